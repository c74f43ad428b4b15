import { Store } from '../../../persistence/store.js'

/**
 * Reads payloads of the first index of a store twice, at once and then again, and prints them with what was warned of. It is told the
 * directory and how many rows there are.
 */
const [directory, count] = process.argv.slice(2)
const warnings: string[] = []
const store = await Store.open(directory, { onWarning: (message) => warnings.push(message) })
const [{ id }] = store.indexes()
const rows = new Uint32Array(Number(count) * 2).map((_, i) => (i % 2 === 0 ? i / 2 : 0))
const gather = () => store.payloads.gather(id, { rows })
const gathered = [...(await Promise.all([gather(), gather()])), await gather()]
console.log(
  JSON.stringify({
    warnings,
    cached: store.payloads.cachedBytes,
    offsets: gathered.map(({ offsets }) => [...offsets]),
    bytes: gathered.map(({ bytes }) => Buffer.from(bytes).toString('hex')),
  }),
)
await store.close()
