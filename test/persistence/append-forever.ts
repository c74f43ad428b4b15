import { Store } from '../../persistence/store.js'
import { crashRecord } from './crash-record.js'

/** Appends to a store until it is killed, several records at a time, and prints every position that was acknowledged. */
const store = await Store.open(process.argv[2])
const [existing] = store.indexes()
const { id } =
  existing ?? (await store.createIndex({ name: 'a', keyType: 'u64', payloadKind: 'bytes', unique: false }))

let position = store.log.last(id)
let row = store.payloads.nextRow(id)

async function appendForever(): Promise<void> {
  for (;;) {
    const record = crashRecord(++position, row)
    row += record.segment.offsets.length - 1
    const appended = await store.log.append(id, record)
    process.stdout.write(`${appended.position}\n`)
    if (appended.position % 50 === 0) await store.snapshots.write(id, appended.position, {}, [])
    if (appended.position % 70 === 0) await store.payloads.compact(id)
  }
}

process.stdout.write('open\n')
await Promise.all([appendForever(), appendForever(), appendForever()])
