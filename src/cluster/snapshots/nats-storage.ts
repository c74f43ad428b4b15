import { badRequest } from '../../../protocol/errors.js'
import { installCommand } from '../../../protocol/optional-packages.js'
import { type Nats, replicated } from '../nats.js'
import type { ObjectStorage } from './object-place.js'

/** How long one part of an object may take: an election among the servers takes seconds. */
const TIMEOUT_MS = 10_000
/** Of a part at most, if the servers take messages of that size. */
const PART_BYTES = 2 ** 20

/**
 * The object store of a replica set in JetStream, which is made where there is none.
 * @throws WarpdexError `BAD_REQUEST` where the package is not installed, or the servers keep no objects
 */
export async function openNatsStorage(nats: Nats, replicaSet: string): Promise<ObjectStorage> {
  const { options, client, manager } = nats
  const { Objm } = await load()
  const bucket = `warpdex-${replicaSet}`
  const objects = await replicated(options, (replicas) => new Objm(client).create(bucket, { replicas }))
  return {
    name: `the object store ${bucket} of ${options.servers}`,
    async names() {
      return (await objects.list()).map(({ name }) => name)
    },
    async put(name, bytes) {
      const meta = { name, options: { max_chunk_size: PART_BYTES } }
      await objects.putBlob(meta, bytes, { timeout: TIMEOUT_MS })
    },
    async get(name) {
      const bytes = await objects.getBlob(name)
      if (bytes === null) throw new Error(`there is no ${name} any more`)
      return bytes
    },
    async remove(name) {
      await objects.delete(name)
      // What is left is a note that the object is gone.
      const code = Buffer.from(name).toString('base64').replaceAll('+', '-').replaceAll('/', '_')
      await manager.streams.purge(`OBJ_${bucket}`, { filter: `$O.${bucket}.M.${code}` })
    },
  }
}

async function load() {
  try {
    return await import('@nats-io/obj')
  } catch (cause) {
    throw badRequest(`snapshots in NATS need its client for objects: ${installCommand('@nats-io/obj')}`, {
      cause,
    })
  }
}
