import type { Device } from '../../gpu/device/device.js'
import type { Store } from '../../persistence/store.js'
import type { EngineMeter } from '../observe/meter.js'
import type { Calibrator } from './calibrator.js'
import type { Clock } from './clock.js'
import type { DeviceBudget } from './device-budget.js'
import type { FairTurns } from './fair-turns.js'
import type { FeedWaits } from './feed-waits.js'
import type { ReplayProgress } from './loader.js'
import type { Index } from './named-index.js'
import type { ReadVersions } from './read-versions.js'
import type { Registry } from './registry.js'
import type { StructureFactory } from './structures.js'

/** What the parts of an engine share. */
export interface EngineHost {
  readonly store: Store
  readonly budget: DeviceBudget
  readonly structures: StructureFactory
  readonly calibrator: Calibrator<'traversalCosts'>
  /** In which large reads of all indexes go to the device. */
  readonly turns: FairTurns
  readonly versions: ReadVersions
  /** All indexes, those over columns of relations among them. */
  readonly indexes: Registry<Index>
  /** Bytes of the log of an index or a relation after which a snapshot is due. */
  readonly snapshotLogBytes: number
  /** Bytes of the newest records of an index that stay in its log for feeds. */
  readonly feedBytes: number
  /** Those who wait for changes of indexes. */
  readonly feeds: FeedWaits
  readonly clock: Clock
  readonly meter?: EngineMeter | undefined
  /** Ends the loading, with the signal's reason, once it is aborted. */
  readonly stop: AbortSignal | undefined
  /** The device, which may be another one than before after a loss. */
  device(): Promise<Device>
  onProgress(progress: ReplayProgress): void
  onWarning(message: string): void
}

/** What a structure that may be paged out needs of its engine. */
export type PagingHost = Pick<EngineHost, 'budget' | 'meter' | 'device'>
