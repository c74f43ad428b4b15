import { existsSync } from 'node:fs'
import type { Test } from 'tap'
import type { Device } from '../../../gpu/device/device.js'
import { ReplicaNode } from '../../../src/cluster/replica-node.js'
import { FolderPlace } from '../../../src/cluster/snapshots/folder-place.js'
import { ReplicaSnapshots, restoreNewest } from '../../../src/cluster/snapshots/replica-snapshots.js'
import type { Clock, Engine } from '../../../src/engine/index.js'
import { reads } from '../../reads.js'
import { openEngine } from '../engine/open-engine.js'
import { HandedOwnership, MemoryLog } from './memory-log.js'

/** A node that runs. */
interface Started {
  readonly engine: Engine
  readonly node: ReplicaNode
}

/** Nodes of one replica set, all of whose files are in the folder of a test. */
export class ReplicaSet {
  readonly log = new MemoryLog()
  readonly ownership = new HandedOwnership()
  readonly nodes = new Map<string, Started>()
  readonly directories = new Map<string, string>()
  readonly folder: string
  readonly logBytes: number
  readonly #t: Test
  readonly #device: Device

  constructor(t: Test, device: Device, logBytes = Number.POSITIVE_INFINITY) {
    this.#t = t
    this.#device = device
    this.logBytes = logBytes
    // What is torn down is asked for first: else the folder is removed while nodes still write there.
    t.teardown(() => this.nodes.clear())
    t.testdir({})
    this.folder = `${t.testdirName}/snapshots`
  }

  async start(node: string, face = this.log.face(), clock?: Clock): Promise<Started> {
    const directory = this.directories.get(node) ?? `${this.#t.testdirName}/${node}`
    this.directories.set(node, directory)
    const name = 'main'
    const place = new FolderPlace(this.folder, name)
    const onWarning = (message: string) => this.#t.comment(message)
    if (!existsSync(directory)) await restoreNewest(place, directory, onWarning)
    const engine = await openEngine(this.#t, { directory, openDevice: async () => this.#device, clock })
    const opened = await ReplicaNode.open({
      engine,
      log: face,
      snapshots: new ReplicaSnapshots({ engine, log: face, place, onWarning, logBytes: this.logBytes }),
      ownership: this.ownership.of(node),
      name,
      onWarning,
    })
    this.#t.teardown(() => opened.close())
    const started = { engine, node: opened }
    this.nodes.set(node, started)
    return started
  }

  async stop(name: string): Promise<void> {
    const { node, engine } = this.nodes.get(name)!
    await node.close()
    await engine.close()
    this.nodes.delete(name)
  }

  /** Has a node own the replica set. */
  async give(name: string): Promise<Engine> {
    this.ownership.give(name)
    const { node, engine } = this.nodes.get(name)!
    await until(() => node.isOwner)
    return engine
  }

  /** All nodes have all that is in the log, and the same. */
  async check(t: Test, what: string): Promise<void> {
    const all = [...this.nodes.values()]
    await until(() => all.every(({ node }) => node.isOwner || node.position === this.log.entries.length))
    const [first, ...others] = await Promise.all(all.map(({ engine }) => contentsOf(engine)))
    for (const other of others) t.same(other, first, what)
  }
}

export async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 2))
}

/** All that clients can see of an engine. */
async function contentsOf(engine: Engine): Promise<unknown> {
  const indexes = await Promise.all(
    engine.list().map(async (definition) => {
      const index = engine.index(definition.name)
      const scan = await reads(index).scan({ ranges: 1, limit: 1000 })
      const { keys, payloads, payloadOffsets } = scan
      const { logPosition } = index.stats()
      const { handle } = index.handle
      return { definition, handle, logPosition, keys: [...keys], payloads: [...payloads], payloadOffsets }
    }),
  )
  const relations = await Promise.all(
    engine.relations().map(async (info) => {
      const { batch } = await engine.relation(info.name).read({ columns: [], from: 0, limit: 1000 })
      return { info, rows: batch.rows, columns: [...batch.columns] }
    }),
  )
  const byName = (one: { definition: { name: string } }, other: typeof one) =>
    one.definition.name < other.definition.name ? -1 : 1
  return { indexes: indexes.sort(byName), relations }
}
