import type { AdapterFacts, Device } from '../../gpu/device/device.js'
import type { HostCopies } from '../../gpu/memory/host-copies.js'
import type { SlabFigures } from '../../gpu/memory/slab-set.js'
import { toWarpdexError, WarpdexError } from '../../protocol/errors.js'
import { type PageOwner, type SlabMap, slabMaps } from './slab-map.js'

/** What is done about the device of an engine. */
export interface LiveDeviceHost {
  /** @throws WarpdexError `NO_ADAPTER` */
  open(): Promise<Device>
  /** Prepares a device that takes the place of one that was lost. */
  prepare(device: Device): Promise<void>
  /** Whether nothing is to be done about a loss any more. */
  isClosing(): boolean
  /** Told of a loss, with what became of the device. */
  onLoss(message: string): void
  /** Brings everything that was on the device that was lost to another; settles, and never rejects, when all is there or has reported its failure. */
  move(): Promise<unknown>
}

/** The device of an engine, in whose place another one comes when it is lost. */
export class LiveDevice {
  readonly #host: LiveDeviceHost
  /** The last one that there was. */
  #latest: Device
  #current: Promise<Device>
  #interruption: string | undefined

  constructor(device: Device, host: LiveDeviceHost) {
    this.#host = host
    this.#latest = device
    this.#current = Promise.resolve(device)
    this.#watch(device)
  }

  /** Rejects with `DEVICE_LOST` where there is none after a loss. */
  get current(): Promise<Device> {
    return this.#current
  }

  get adapter(): AdapterFacts {
    return this.#latest.facts
  }

  /** What the memory of structures lies in. */
  get slabs(): readonly SlabFigures[] {
    return this.#latest.pages.figures()
  }

  /** What is on the host of what came from there. */
  get hostCopies(): Pick<HostCopies, 'bytes' | 'readBytes'> {
    return this.#latest.hostCopies
  }

  /** What lies where in that memory. */
  slabMaps(owners: readonly PageOwner[]): readonly SlabMap[] {
    return slabMaps(this.#latest.pages.slabs, owners)
  }

  /** Why nothing can be done on it at the moment, in words for people; undefined while it can. */
  get interruption(): string | undefined {
    return this.#interruption
  }

  #watch(device: Device): void {
    void device.lost.then(({ message }) => {
      if (this.#host.isClosing()) return
      this.#host.onLoss(message)
      this.#interruption = 'the device was lost; all indexes are rebuilt on a new one'
      const replacement = this.#replace()
      this.#current = replacement
      const moved = this.#host.move()
      const replaced = replacement.then(
        () => undefined,
        (error: unknown) => toWarpdexError(error).message,
      )
      void Promise.all([replaced, moved]).then(([failure]) => {
        device.destroy()
        // The next device may have been lost meanwhile.
        if (this.#current === replacement) this.#interruption = failure
      })
    })
  }

  async #replace(): Promise<Device> {
    try {
      const device = await this.#host.open()
      this.#latest = device
      this.#watch(device)
      await this.#host.prepare(device)
      return device
    } catch (thrown) {
      const { message } = toWarpdexError(thrown)
      throw new WarpdexError('DEVICE_LOST', `the device was lost and there is no other: ${message}`)
    }
  }
}
