import { SnapshotThread } from '../../persistence/snapshots/snapshot-thread.js'
import type { Config } from '../config/settings.js'
import { Engine } from '../engine/engine.js'
import type { EngineOptions } from '../engine/engine-options.js'

/** The engine of a server, from before it is open until it is closed, and the thread that writes its snapshots. */
export class ServedEngine {
  #engine: Engine | undefined
  #snapshotThread: SnapshotThread | undefined

  /** Undefined until it is open. */
  get current(): Engine | undefined {
    return this.#engine
  }

  /** @throws as `Engine.open`, and what starting a thread throws; `close` gives back what is there by then */
  async open(
    config: Config,
    options: Partial<EngineOptions> & { readonly onWarning: (message: string) => void },
  ): Promise<Engine> {
    const { directory, adapter, snapshotLogBytes, payloadCacheBytes, queryMemory, recalibrate } = config
    const backupDirectory = config.backupDirectory === '' ? undefined : config.backupDirectory
    const deviceMemory = config.deviceMemory === 0 ? undefined : config.deviceMemory
    if (config.ioThreads > 0) this.#snapshotThread = new SnapshotThread(options.onWarning)
    const settings = { directory, adapter, snapshotLogBytes, recalibrate, backupDirectory }
    const queryMemoryInAll = config.queryMemoryInAll === 0 ? undefined : config.queryMemoryInAll
    const memory = { payloadCacheBytes, deviceMemory, queryMemory, queryMemoryInAll }
    const snapshotThread = this.#snapshotThread
    this.#engine = await Engine.open({ ...settings, ...memory, snapshotThread, ...options })
    return this.#engine
  }

  async close(): Promise<void> {
    try {
      await this.#engine?.close()
    } finally {
      await this.#snapshotThread?.stop()
    }
  }
}
