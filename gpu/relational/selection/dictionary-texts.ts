import { asBytes } from '../../../protocol/columns.js'
import type { Device } from '../../device/device.js'
import type { DeviceMemory } from '../../memory/page-run.js'
import type { DeviceWork } from '../query/device-work.js'
import type { StringDictionary } from '../string-dictionary.js'

/** Bytes of texts that stay on a CPU, where a copy is in the memory that the strings are in already. A GPU keeps as much as one binding has. */
const SOFTWARE_BYTES_KEPT = 256 * 2 ** 20

interface Texts {
  readonly made: Promise<DeviceMemory>
  /** Those who wait for it, and work that was recorded with it and is not yet submitted. */
  users: number
  /** Whether others have taken its place; then it goes with its last user. */
  isEvicted: boolean
}

/**
 * The strings of dictionaries on the device, in the layout of `match.wesl`, as long as they are used and there is room. They make way where the
 * device runs short, and go with their dictionaries.
 */
export class DictionaryTexts {
  readonly #device: Device
  readonly #most: number
  readonly #texts = new WeakMap<StringDictionary, Texts | 'unbindable'>()
  /** The one that was used last comes last. It does not hold the dictionaries, so that those may go. */
  readonly #kept = new Map<Texts, DeviceMemory>()
  readonly #gone = new FinalizationRegistry<Texts>((texts) => this.#evict(texts))
  readonly #endShortages: () => void
  #bytes = 0

  constructor(device: Device, most = mostKept(device)) {
    this.#device = device
    this.#most = most
    this.#endShortages = device.onShortage(() => this.#evictUnused())
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
  async use(work: DeviceWork, dictionary: StringDictionary): Promise<DeviceMemory | undefined> {
    const texts = this.#textsOf(dictionary)
    if (texts === 'unbindable') return undefined
    texts.users++
    // A copy that cannot be made is forgotten, and its users with it.
    const buffer = await texts.made
    work.recorder.onSubmitted(() => {
      texts.users--
      destroyUnused(texts, buffer)
    })
    if (!texts.isEvicted) this.#keep(texts, buffer)
    return buffer
  }

  /** Destroys all copies; those that recorded work still needs when it is submitted. */
  destroy(): void {
    this.#endShortages()
    for (const texts of this.#kept.keys()) this.#evict(texts)
  }

  /** Nothing is waited for in between, so that those who ask at the same time get the same copy. */
  #textsOf(dictionary: StringDictionary): Texts | 'unbindable' {
    const known = this.#texts.get(dictionary)
    if (known === 'unbindable' || known?.isEvicted === false) return known
    const { bytes, offsets } = dictionary
    const size = offsets.byteLength + bytes.byteLength
    if (size > this.#device.facts.bindingBytes) {
      this.#texts.set(dictionary, 'unbindable')
      return 'unbindable'
    }
    const texts: Texts = { made: this.#upload(offsets, bytes), users: 0, isEvicted: false }
    this.#texts.set(dictionary, texts)
    this.#gone.register(dictionary, texts)
    texts.made.catch(() => this.#texts.delete(dictionary))
    return texts
  }

  async #upload(offsets: Uint32Array, bytes: Uint8Array): Promise<DeviceMemory> {
    const size = offsets.byteLength + bytes.byteLength
    const buffer = this.#device.allocatePages('copies', size, 'the strings of a column')
    try {
      this.#device.upload(buffer, asBytes(offsets))
      this.#device.upload(buffer, bytes, offsets.byteLength)
      return buffer
    } catch (thrown) {
      buffer.destroy()
      throw thrown
    }
  }

  /** Keeps a copy, in place of those that were not used for longest where there is no room for all. */
  #keep(texts: Texts, buffer: DeviceMemory): void {
    if (!this.#kept.delete(texts)) this.#bytes += buffer.size
    this.#kept.set(texts, buffer)
    for (const oldest of this.#kept.keys()) {
      if (this.#bytes <= this.#most || oldest === texts) return
      this.#evict(oldest)
    }
  }

  /** Others would only be made once more while they are there still. */
  #evictUnused(): void {
    for (const texts of this.#kept.keys()) {
      if (texts.users === 0) this.#evict(texts)
    }
  }

  #evict(texts: Texts): void {
    texts.isEvicted = true
    const buffer = this.#kept.get(texts)
    if (buffer === undefined) return
    this.#kept.delete(texts)
    this.#bytes -= buffer.size
    destroyUnused(texts, buffer)
  }
}

function mostKept({ facts: { software, bindingBytes } }: Device): number {
  return software ? Math.min(SOFTWARE_BYTES_KEPT, bindingBytes) : bindingBytes
}

function destroyUnused({ users, isEvicted }: Texts, buffer: DeviceMemory): void {
  if (isEvicted && users === 0) buffer.destroy()
}
