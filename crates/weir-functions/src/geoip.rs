//! SQL functions of where an address is and whose it is, by databases in MaxMind's format that the user names.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow::array::{StringViewBuilder, UInt32Builder};
use arrow::datatypes::DataType;
use datafusion::common::{exec_err, plan_err};
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use maxminddb::{PathElement, Reader};
use weir_packet::Address;

use crate::computed::computed;
use crate::error::{Error, ErrorKind};
use crate::networks;

/// `geoip_country(ip.src)`: ISO 3166 code of the country.
const COUNTRY: &str = "geoip_country";
/// `geoip_city(ip.src)`: English name of the city.
const CITY: &str = "geoip_city";
/// `asn(ip.src)`: number of the autonomous system.
const ASN: &str = "asn";
/// `as_org(ip.src)`: whose autonomous system it is.
const AS_ORG: &str = "as_org";

/// The databases that the user named.
pub(crate) struct Databases(Vec<(PathBuf, Reader<Vec<u8>>)>);

impl fmt::Debug for Databases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.0.iter().map(|(path, _)| path))
            .finish()
    }
}

impl Databases {
    /// Reads them into memory.
    ///
    /// # Errors
    /// When a file cannot be read, or is no such database.
    pub(crate) fn open(paths: &[PathBuf]) -> Result<Arc<Self>, Error> {
        let open = |path: &PathBuf| match Reader::open_readfile(path) {
            Ok(reader) => Ok((path.clone(), reader)),
            Err(error) => Err(unreadable(path, &error)),
        };
        let databases = paths.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Arc::new(Self(databases)))
    }

    /// The value of the first database that has one at these paths.
    fn find<'d, T: serde::Deserialize<'d>>(
        &'d self,
        address: IpAddr,
        places: &[&[&'static str]],
    ) -> Result<Option<T>> {
        for (path, reader) in &self.0 {
            if address.is_ipv6() && reader.metadata().ip_version == 4 {
                continue;
            }
            let found = match reader.lookup(address) {
                Ok(found) => found,
                Err(error) => return exec_err!("{}: {error}", path.display()),
            };
            for place in places {
                let path: Vec<PathElement<'_>> =
                    place.iter().map(|key| PathElement::Key(key)).collect();
                // A value of another type is that of another vendor's database, whose place is the next one.
                if let Ok(Some(value)) = found.decode_path::<T>(&path) {
                    return Ok(Some(value));
                }
            }
        }
        Ok(None)
    }
}

fn unreadable(path: &Path, error: &maxminddb::MaxMindDbError) -> Error {
    let message = format!("{}: {error}", path.display());
    Error::new(ErrorKind::Source, message).with_hint(
        "databases of addresses are files in MaxMind's format, such as GeoLite2-Country.mmdb",
    )
}

pub(crate) fn all(databases: &Arc<Databases>) -> [ScalarUDF; 4] {
    [COUNTRY, CITY, ASN, AS_ORG].map(|name| {
        ScalarUDF::from(OfDatabase {
            name,
            databases: Arc::clone(databases),
            signature: Signature::user_defined(Volatility::Immutable),
        })
    })
}

#[derive(Debug)]
struct OfDatabase {
    name: &'static str,
    databases: Arc<Databases>,
    signature: Signature,
}

impl PartialEq for OfDatabase {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.databases, &other.databases)
    }
}

impl Eq for OfDatabase {}

impl Hash for OfDatabase {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for OfDatabase {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn coerce_types(&self, types: &[DataType]) -> Result<Vec<DataType>> {
        if self.databases.0.is_empty() {
            return plan_err!(
                "{} needs a database of addresses: name one with --geoip FILE.mmdb or the variable WEIR_GEOIP",
                self.name
            );
        }
        match types {
            [kind] if networks::coerced_type(kind).is_some() => {
                Ok(networks::coerced_type(kind).into_iter().collect())
            }
            _ => plan_err!("{0} takes an address: {0}(ip.src)", self.name),
        }
    }

    fn return_type(&self, _types: &[DataType]) -> Result<DataType> {
        Ok(match self.name {
            ASN => DataType::UInt32,
            _ => DataType::Utf8View,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        computed(&args, |given| {
            let rows = args.number_rows;
            let [addresses] = given else {
                return exec_err!("{} got {} arguments", self.name, given.len());
            };
            let addresses = networks::parsed_addresses(addresses)?;
            let addresses = addresses.into_iter().map(|address| ip(address?));
            let databases = &self.databases;
            Ok(match self.name {
                ASN => {
                    let mut numbers = UInt32Builder::with_capacity(rows);
                    for address in addresses {
                        numbers.append_option(match address {
                            Some(address) => number_of_system(databases, address)?,
                            None => None,
                        });
                    }
                    Arc::new(numbers.finish())
                }
                name => {
                    let places = places(name);
                    let mut texts =
                        StringViewBuilder::with_capacity(rows).with_deduplicate_strings();
                    for address in addresses {
                        texts.append_option(match address {
                            Some(address) => databases.find::<&str>(address, places)?,
                            None => None,
                        });
                    }
                    Arc::new(texts.finish())
                }
            })
        })
    }
}

/// An address of IP; MAC addresses have no place.
fn ip(address: Address) -> Option<IpAddr> {
    let bytes = address.as_bytes();
    if let Ok(four) = <[u8; 4]>::try_from(bytes) {
        return Some(IpAddr::from(four));
    }
    <[u8; 16]>::try_from(bytes).ok().map(IpAddr::from)
}

/// The paths of a text in databases: those of MaxMind and DB-IP, then those of IPinfo.
fn places(name: &str) -> &'static [&'static [&'static str]] {
    match name {
        COUNTRY => &[
            &["country", "iso_code"],
            &["country_code"],
            &["country"],
            &["registered_country", "iso_code"],
        ],
        CITY => &[&["city", "names", "en"], &["city"]],
        _ => &[&["autonomous_system_organization"], &["as_name"], &["name"]],
    }
}

/// The number of an autonomous system: as a number, or as a text such as AS64500.
fn number_of_system(databases: &Databases, address: IpAddr) -> Result<Option<u32>> {
    if let Some(number) = databases.find::<u32>(address, &[&["autonomous_system_number"]])? {
        return Ok(Some(number));
    }
    let text = databases.find::<&str>(address, &[&["asn"]])?;
    Ok(text.and_then(|text| text.trim_start_matches(['A', 'S', 'a', 's']).parse().ok()))
}
