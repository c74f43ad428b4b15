import type { KeyBlob } from '../../keys.js'
import { type DeviceTools, LoadedDevice } from './device-subject.js'
import { NaiveIndex } from './naive-index.js'
import type { Loaded, Subject } from './subject.js'

/** The paper's naive index: one thread a key compares. */
export class NaiveSubject implements Subject {
  readonly name = 'naive'
  readonly #tools: DeviceTools

  constructor(tools: DeviceTools) {
    this.#tools = tools
  }

  async load({ bytes, offsets }: KeyBlob): Promise<Loaded> {
    const index = await NaiveIndex.create(this.#tools.device, bytes, offsets)
    return new LoadedDevice(this.#tools, {
      bytes: index.bytes,
      recordGet: (recorder, _, queries, { found, payloads }, count) =>
        index.recordGet(recorder, queries, found, payloads, count),
      destroy: () => index.destroy(),
    })
  }
}
