"""What a chip costs by the hour: on demand, spot, or with a discount that the reader has been given."""

from collections.abc import Mapping
from typing import NamedTuple

from tpu_kernels.models import hardware
from tpu_kernels.models.catalogue import Price, Source, UnknownValueError
from tpu_kernels.models.checked_number import positive_number
from tpu_kernels.models.cost.published import sources, spot_prices
from tpu_kernels.models.matrix import whole
from tpu_kernels.models.quantity import Quantity
from tpu_kernels.models.share import share
from tpu_kernels.phrases import phrase

ON_DEMAND, SPOT, OWN = "on-demand", "spot", "own"


class Rate(NamedTuple):
    """A price: ``amount`` per chip and hour, its ``terms`` and ``region``, the ``source`` it was read from and the
    ``discount`` that the reader took off (0 to 1). A price of the reader's own has no source."""

    chip: str
    amount: Quantity
    terms: str
    region: str | None = None
    source: Source | None = None
    discount: float = 0.0

    def hourly(self, chips: int) -> Quantity:
        """What so many chips cost in an hour; ``ValueError`` for less than one."""
        return Quantity(float(self.amount) * whole("chips", chips), "USD/hour")

    def discounted(self, discount: float, terms: str) -> "Rate":
        """The price with a ``discount`` (0.4 is 40 % less) that a contract gives: committed use, a reservation.

        No public source was found for such discounts, so none is built in. Raises ``ValueError`` outside [0, 1).
        """
        off = share("discount", discount)
        if off == 1:
            raise ValueError(phrase("cost.free", got=repr(discount)))
        total = 1 - (1 - self.discount) * (1 - off)
        return self._replace(
            amount=Quantity(float(self.amount) * (1 - off), self.amount.unit), terms=terms, discount=total
        )

    def title(self) -> str:
        """The terms in the language in force; those that the reader named, as they are."""
        if self.terms == ON_DEMAND:
            return phrase("cost.on_demand")
        if self.terms == SPOT:
            return phrase("cost.spot")
        return phrase("cost.own") if self.terms == OWN else self.terms

    def __repr__(self) -> str:
        text = phrase(
            "cost.rate", amount=self.amount.format(), chip=self.chip, terms=self.title(), region=self.region or "—"
        )
        return text if self.source is None else f"{text} {self.source.format()}"


def on_demand(chip: str, region: str | None = None) -> Rate:
    """The list price of a chip of the catalogue, in ``region`` if one is named, else the first one recorded.

    Raises ``LookupError`` for an unknown chip and where no public price was found.
    """
    device = hardware.chip(chip)
    return _rate(device.name, device.price(region), ON_DEMAND, hardware.sources())


def spot(chip: str, region: str | None = None) -> Rate:
    """The spot price of a chip, as of the day its source was made; see :func:`on_demand` for region and errors."""
    device = hardware.chip(chip)
    prices = spot_prices().get(device.id, ())
    for price in prices:
        if region in (None, price.region):
            return _rate(device.name, price, SPOT, sources())
    places = ", ".join(price.region or "—" for price in prices) or "—"
    raise UnknownValueError(phrase("hardware.no_price", chip=device.name, region=region or "—", places=places))


def own_rate(chip: str, usd_per_chip_hour: float, terms: str = OWN, region: str | None = None) -> Rate:
    """A price that the reader knows, in USD per chip and hour; ``ValueError`` unless positive."""
    amount = Quantity(positive_number("usd_per_chip_hour", usd_per_chip_hour), "USD/chip/hour")
    return Rate(hardware.chip(chip).name, amount, terms, region)


def _rate(chip: str, price: Price, terms: str, known: Mapping[str, Source]) -> Rate:
    assert price.amount is not None, "the callers look for prices that are known"
    return Rate(chip, price.amount, terms, price.region, known[price.source] if price.source else None)
