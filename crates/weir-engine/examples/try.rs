use arrow::util::pretty::pretty_format_batches;
fn main() { tokio::runtime::Runtime::new().unwrap().block_on(async {
 let e = weir_engine::Engine::new(&weir_engine::Options::default()).unwrap();
 for sql in std::env::args().skip(1) {
  println!("> {sql}");
  match e.parse(&sql) { Err(x) => println!("error: {x}\nhint: {:?}", x.hint()), Ok(ss) => for s in ss {
    match e.answer(s).await { Err(x) => println!("error: {x}\nhint: {:?}", x.hint()), Ok(mut a) => { let mut v=vec![]; loop { match a.next().await { Ok(Some(b)) => v.push(b), Ok(None)=>break, Err(x) => {println!("run error {x}"); break} } } println!("{}", pretty_format_batches(&v).unwrap()); } }
  } }
  for d in e.ledger().take_errors() { println!("damage: {d}"); }
  println!("{:?}", e.ledger().counters().totals());
 }
 })}
