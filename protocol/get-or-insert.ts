/** A map, weak or not. */
interface Entries<Key, Value> {
  get(key: Key): Value | undefined
  set(key: Key, value: Value): unknown
}

/** What a map has for a key, or, where it has nothing, what is made for it then. */
export function getOrInsert<Key, Value>(
  map: Entries<Key, Value>,
  key: Key,
  make: (key: Key) => NoInfer<Value>,
): Value {
  let value = map.get(key)
  if (value === undefined) {
    value = make(key)
    map.set(key, value)
  }
  return value
}
