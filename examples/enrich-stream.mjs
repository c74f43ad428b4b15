// Adds to every record of a stream what an index has for one of its fields:
//
//   node examples/enrich-stream.mjs customers customer < events.ndjson > enriched.ndjson
//
// Records are collected into batches, and a few batches are in flight at a time: that is what makes it fast. Memory stays bounded, and order is kept.
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { connect } from 'warpdex'

const BATCH = 10_000
const IN_FLIGHT = 4

const [indexName, field] = process.argv.slice(2)
if (field === undefined) {
  console.error('usage: enrich-stream.mjs INDEX FIELD < RECORDS')
  process.exit(2)
}

const client = await connect(process.env.WARPDEX_URL ?? 'ws://127.0.0.1:7070')
const index = client.index(indexName)

/** Looks up a batch; the records as lines. */
async function enrich(records) {
  const found = await index.getMany(records.map((record) => record[field]))
  return records.map(
    (record, i) => `${JSON.stringify({ ...record, [indexName]: found.payload(i) ?? null })}\n`,
  )
}

/** A line's record. */
function parse(line) {
  try {
    return JSON.parse(line)
  } catch (error) {
    console.error(`line ${lines}: ${error.message}`)
    process.exit(2)
  }
}

/** Writes the oldest batch, and waits while nobody reads. */
async function writeOldest(batches) {
  const lines = await batches.shift()
  if (!process.stdout.write(lines.join(''))) await once(process.stdout, 'drain')
}

const batches = []
let records = []
let lines = 0
for await (const line of createInterface({ input: process.stdin })) {
  lines++
  if (line === '') continue
  records.push(parse(line))
  if (records.length < BATCH) continue
  batches.push(enrich(records))
  records = []
  if (batches.length === IN_FLIGHT) await writeOldest(batches)
}
if (records.length > 0) batches.push(enrich(records))
while (batches.length > 0) await writeOldest(batches)
await client.close()
