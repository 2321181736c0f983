"""Numbers quoted in prose, written as the reader's language writes them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sistolica.lesson.quote import QuoteError, format_calc, format_spec, spec_source
from tpu_kernels.messages import LANGUAGES
from tpu_kernels.models import hardware


def values(value, unit=None):
    return {"x": {"value": value, "unit": unit}}


class TestSpec:
    @pytest.mark.parametrize("lang", LANGUAGES)
    def test_is_the_catalogue_value_with_its_unit(self, lang):
        shown = format_spec("v5e.hbm_bandwidth", lang)
        assert shown == hardware.chip("v5e").hbm_bandwidth.format(lang)
        assert shown.endswith("B/s")

    def test_a_dotted_path_reaches_a_rate_by_format(self):
        assert format_spec("v5e.peak_flops.bf16", "es") == hardware.chip("v5e").peak_flops["bf16"].format("es")

    def test_words_are_written_in_the_language(self):
        assert format_spec("v5e.ici_topology", "es") != hardware.get("v5e.ici_topology")

    @pytest.mark.parametrize(
        "path",
        [
            "v5f.hbm_bandwidth",
            "v5e",
            "",
            ".",
            "v5e.",
            "v5e.hbm_bandwith",
            "v5e.peak_flops",
            "v5e.peak_flops.fp64",
            "v5e.name",
        ],
    )
    def test_what_the_catalogue_does_not_hold_is_refused_with_the_role_as_written(self, path):
        with pytest.raises(QuoteError, match=re.escape(f"{{spec}}`{path}`: ") + ".+"):
            format_spec(path, "es")

    def test_a_value_that_nobody_has_published_is_refused(self):
        unknown = [
            f"{chip.id}.{name}"
            for chip in hardware.chips()
            for name, field in chip.values.items()
            if field.value is None
        ]
        assert unknown, "the catalogue records no unknown value: this test needs another way to make one"
        for path in unknown:
            with pytest.raises(QuoteError, match=re.escape(path)):
                format_spec(path, "pt")

    @pytest.mark.parametrize("lang", LANGUAGES)
    def test_every_known_value_can_be_quoted_and_says_where_it_comes_from(self, lang):
        for chip in hardware.chips():
            for name, field in chip.values.items():
                if field.value is not None:
                    path = f"{chip.id}.{name}"
                    assert format_spec(path, lang).strip(), path
                    assert spec_source(path, lang) not in {"", "None"}, path


class TestCalc:
    @pytest.mark.parametrize(
        ("value", "unit", "text", "es", "pt"),
        [
            (819e9, "bytes/s", "x", "819\N{NO-BREAK SPACE}GB/s", "819\N{NO-BREAK SPACE}GB/s"),
            (1.5e9, "Hz", "x", "1,5\N{NO-BREAK SPACE}GHz", "1,5\N{NO-BREAK SPACE}GHz"),
            (16, None, "x", "16", "16"),
            (57344, None, "x", "57\N{NARROW NO-BREAK SPACE}344", "57.344"),
            (2 / 3, None, "x:.1f", "0,7", "0,7"),
            (2.0, None, "x:.2f", "2,00", "2,00"),
            (57344.25, None, "x:.1f", "57\N{NARROW NO-BREAK SPACE}344,2", "57.344,2"),
            (57344.25, None, "x:,.1f", None, None),
            (-1.25, None, "x:.1f", "\N{MINUS SIGN}1,2", "\N{MINUS SIGN}1,2"),
            (-0.01, None, "x:.1f", "0,0", "0,0"),
            (7, None, "x:d", "7", "7"),
            (7, None, "x:.0f", "7", "7"),
            (7, None, "x:", "7", "7"),
        ],
    )
    def test_is_written_as_the_language_does(self, value, unit, text, es, pt):
        for lang, wanted in (("es", es), ("pt", pt)):
            if wanted is None:  # groups are the language's, not the form's
                with pytest.raises(QuoteError, match=r"use one such as .1f"):
                    format_calc(text, values(value, unit), lang)
            else:
                assert format_calc(text, values(value, unit), lang) == wanted

    @pytest.mark.parametrize("form", ["q", ".1q", "s", "e", "x", "%", "d", " >9.1f"])
    def test_a_form_that_does_not_write_a_decimal_number_is_refused(self, form):
        with pytest.raises(QuoteError, match=re.escape(f"{{calc}}`x:{form}`") + ".*use one such as .1f"):
            format_calc(f"x:{form}", values(2.5), "es")

    def test_a_form_on_a_number_with_a_unit_is_refused(self):
        with pytest.raises(QuoteError, match=r"unit bytes/s.*drop the format"):
            format_calc("x:.1f", values(1.0, "bytes/s"), "es")

    @pytest.mark.parametrize("text", ["y", "X", "x :.1f", " x", ""])
    def test_an_unknown_name_is_refused(self, text):
        with pytest.raises(QuoteError, match="no cell of this page defines"):
            format_calc(text, values(1), "es")

    def test_a_unit_that_the_library_does_not_know_is_refused(self):
        with pytest.raises(QuoteError, match="furlong"):
            format_calc("x", values(1.0, "furlong"), "es")

    def test_a_number_beyond_floating_point_is_refused(self):
        for text in ("x", "x:.1f"):
            with pytest.raises(QuoteError, match="calc"):
                format_calc(text, values(10**400), "es")

    @pytest.mark.parametrize("form", [".999999999f", "999999999.1f", "0100.1f"])
    def test_a_form_that_never_ends_is_refused(self, form):
        with pytest.raises(QuoteError, match="does not write a number"):
            format_calc(f"x:{form}", values(1.5), "es")

    @given(st.floats(-1e15, 1e15), st.integers(0, 6), st.sampled_from(LANGUAGES))
    def test_read_back_it_is_what_python_formats(self, value, decimals, lang):
        text = format_calc(f"x:.{decimals}f", values(value), lang)

        assert "." not in text.replace(".", "") + ("" if lang == "pt" else text)
        plain = text.replace("\N{NARROW NO-BREAK SPACE}", "").replace(".", "").replace(",", ".")
        assert float(plain.replace("\N{MINUS SIGN}", "-")) == float(format(value, f".{decimals}f"))
        assert len(plain.partition(".")[2]) == decimals
