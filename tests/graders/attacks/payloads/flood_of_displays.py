# why: shows thousands of things, of every kind
# score: 4

# %% payload
for k in range(3000):
    get_ipython().display_pub.publish({"text/html": f"<p>{k}</p>", "text/plain": "x" * 1000})
