import { asBytes } from '../../../protocol/columns.js'
import type { Device } from '../../device/device.js'
import type { StringDictionary } from '../device-relation.js'
import type { DeviceWork } from '../query/device-work.js'

/**
 * Bytes of texts that stay on the device: what columns of a few hundred million short strings have. On a CPU the copy is in the memory that
 * the strings are in already.
 */
const BYTES_KEPT = { hardware: 4 * 2 ** 30, software: 256 * 2 ** 20 }

interface Texts {
  readonly buffer: GPUBuffer
  /** Work that was recorded with it and is not yet submitted. */
  users: number
  /** Whether others have taken its place; then it goes with its last user. */
  isEvicted: boolean
}

/** The strings of dictionaries on the device, in the layout of `match.wesl`, as long as they are used and there is room. */
export class DictionaryTexts {
  readonly #device: Device
  readonly #most: number
  readonly #texts = new WeakMap<StringDictionary, Promise<Texts>>()
  /** The one that was used last comes last. It does not hold the dictionaries, so that those may go. */
  readonly #kept = new Set<Texts>()
  #bytes = 0

  constructor(device: Device, most = device.facts.software ? BYTES_KEPT.software : BYTES_KEPT.hardware) {
    this.#device = device
    this.#most = most
  }

  /** Bytes of those that stay. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * The strings of a dictionary, to be used by what is recorded next.
   * @returns undefined if the adapter cannot bind as much
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async use(work: DeviceWork, dictionary: StringDictionary): Promise<GPUBuffer | undefined> {
    const { bytes, offsets } = dictionary.utf8()
    if (offsets.byteLength + bytes.byteLength > this.#device.facts.bindingBytes) return undefined
    let texts = await this.#texts.get(dictionary)
    if (texts === undefined || texts.isEvicted) {
      const making = this.#upload(offsets, bytes)
      this.#texts.set(dictionary, making)
      making.catch(() => this.#texts.delete(dictionary))
      texts = await making
    }
    this.#pin(work, texts)
    this.#keep(texts)
    return texts.buffer
  }

  async #upload(offsets: Uint32Array, bytes: Uint8Array): Promise<Texts> {
    const size = offsets.byteLength + bytes.byteLength
    const buffer = await this.#device.allocate(size, 'the strings of a column')
    this.#device.upload(buffer, asBytes(offsets))
    this.#device.upload(buffer, bytes, offsets.byteLength)
    return { buffer, users: 0, isEvicted: false }
  }

  #pin(work: DeviceWork, texts: Texts): void {
    texts.users++
    work.recorder.onSubmitted(() => {
      texts.users--
      destroyUnused(texts)
    })
  }

  /** Keeps a copy, in place of those that were not used for longest where there is no room for all. */
  #keep(texts: Texts): void {
    if (!this.#kept.delete(texts)) this.#bytes += texts.buffer.size
    this.#kept.add(texts)
    for (const oldest of this.#kept) {
      if (this.#bytes <= this.#most || oldest === texts) return
      this.#kept.delete(oldest)
      this.#bytes -= oldest.buffer.size
      oldest.isEvicted = true
      destroyUnused(oldest)
    }
  }
}

function destroyUnused({ buffer, users, isEvicted }: Texts): void {
  if (isEvicted && users === 0) buffer.destroy()
}
