"""Makes places.mmdb and systems.mmdb: a few networks of documentation, as MaxMind's and IPinfo's databases have them.

    pip install mmdb_writer && python3 make.py
"""
import pathlib
from netaddr import IPSet
from mmdb_writer import MMDBWriter

here = pathlib.Path(__file__).parent
places = MMDBWriter(6, "Test-City", languages=["en"], description="networks of documentation", ipv4_compatible=True)
berlin = {"country": {"iso_code": "DE"}, "city": {"names": {"en": "Berlin", "de": "Berlin"}}}
places.insert_network(IPSet(["192.0.2.0/24"]), berlin)
places.insert_network(IPSet(["203.0.113.0/25"]), {"country": {"iso_code": "JP"}})
places.insert_network(IPSet(["2001:db8::/32"]), {"country": {"iso_code": "SE"}, "city": {"names": {"en": "Umea"}}})
places.to_db_file(str(here / "places.mmdb"))
systems = MMDBWriter(4, "Test-ASN", languages=["en"], description="networks of documentation", int_type="u32")
systems.insert_network(IPSet(["192.0.2.0/24"]), {"autonomous_system_number": 64500, "autonomous_system_organization": "Example Net"})
systems.insert_network(IPSet(["203.0.113.0/24"]), {"asn": "AS64501", "as_name": "Other Net", "country": "JP"})
systems.to_db_file(str(here / "systems.mmdb"))
