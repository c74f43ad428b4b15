import type { AdapterChoice } from '../../gpu/device/adapter.js'
import type { Device } from '../../gpu/device/device.js'
import type { SnapshotThread } from '../../persistence/snapshots/snapshot-thread.js'
import type { SelectionCosts } from '../../protocol/query/selection-costs.js'
import type { EngineMeter } from '../observe/meter.js'
import type { Clock } from './clock.js'
import type { ReplayProgress } from './loader.js'
import type { StructureFactory } from './structures.js'

export interface EngineOptions {
  /** Folder that holds all data; made where it is missing. */
  readonly directory: string
  readonly adapter?: AdapterChoice | undefined
  /** Bytes of write log of an index after which a snapshot of it is taken. */
  readonly snapshotLogBytes?: number | undefined
  /** Bytes of the newest records of an index that stay in its log for feeds of changes; by default what snapshots need is all that stays. */
  readonly feedBytes?: number | undefined
  /** Writes snapshots, and is stopped by whoever gives it, after the engine is closed; by default the engine's thread does. */
  readonly snapshotThread?: SnapshotThread | undefined
  /** Bytes of payloads of kind `bytes` to keep in memory. */
  readonly payloadCacheBytes?: number | undefined
  /** Bytes of device memory that indexes may take; those that do not fit wait in host memory. Unlimited by default. */
  readonly deviceMemory?: number | undefined
  /** Bytes of device memory that one query may take beside its relations; `queryDeviceBytes` by default. */
  readonly queryMemory?: number | undefined
  /** The same of all queries together; twice `queryMemory` by default, and no more than a quarter of the machine's memory where the CPU is the device. */
  readonly queryMemoryInAll?: number | undefined
  /** Measures the costs of the traversal strategies and of selections anew, even if they are on disk. */
  readonly recalibrate?: boolean | undefined
  /** Folder that backups are made in; without it none are made. */
  readonly backupDirectory?: string | undefined
  readonly structures?: StructureFactory | undefined
  /** Measures what selections cost; by default with their kernels. */
  readonly measureSelections?: ((device: Device, stop: AbortSignal) => Promise<SelectionCosts>) | undefined
  /** Opens a device, at first and after a loss; by default the adapter's. */
  readonly openDevice?: (() => Promise<Device>) | undefined
  /** Told of long work at the start. */
  readonly onProgress?: ((progress: ReplayProgress) => void) | undefined
  /** Gives up the opening, with the signal's reason, once it is aborted. */
  readonly stop?: AbortSignal | undefined
  /** Told of what went wrong without a request to answer. */
  readonly onWarning?: ((message: string) => void) | undefined
  /** The system's by default. */
  readonly clock?: Clock | undefined
  /** Told of work and how long it took. */
  readonly meter?: EngineMeter | undefined
}
