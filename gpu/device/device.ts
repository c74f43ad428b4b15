import { WarpdexError } from '../../protocol/errors.js'
import { HostCopies } from '../memory/host-copies.js'
import { PagePool } from '../memory/page-pool.js'
import type { DeviceMemory, PageRun } from '../memory/page-run.js'
import { type DeviceColumn, Readback } from '../memory/readback.js'
import { OWN_MEMORY, type ResultMemory } from '../memory/result-memory.js'
import { Scratch } from '../memory/scratch.js'
import type { SlabSort } from '../memory/slab.js'
import { Staging } from '../memory/staging.js'
import { Uploads } from '../memory/uploads.js'
import type { SelectionCosts } from '../relational/selection/selection-types.js'
import { type AdapterChoice, type AdapterFacts, type FoundAdapter, findAdapter } from './adapter.js'
import { BufferMaker } from './buffer-maker.js'
import { BufferPools } from './buffer-pools.js'
import { Clock } from './clock.js'
import { createPagePool, reserveFor } from './device-pages.js'
import { IdleTime } from './idle-time.js'
import type { Kernel } from './kernel.js'
import { KernelStore } from './kernel-store.js'
import type { Lane } from './lane.js'
import { PollingPauses } from './polling-pauses.js'
import { Profiler } from './profiler.js'
import { DirectRecorder, type Recorder } from './recorder.js'
import type { Conditions, ModuleDescription } from './shaders.js'
import { Turns } from './turns.js'

export type { AdapterFacts, DeviceColumn }

/** Kernels by their entry points. */
export type Kernels<Name extends string> = Readonly<Record<Name, Kernel>>

/** Every buffer is a whole number of these, so that kernels can bind any column as `array<vec4u>`. */
const QUAD_BYTES = 16

/** `STORAGE`, `COPY_SRC` and `COPY_DST` of `GPUBufferUsage`; the globals of WebGPU exist only once an adapter was asked for. */
const STORED = 0x80 | 0x4 | 0x8

/** What such a buffer is called that an operation needs for its duration. */
const SCRATCH = 'scratch memory'

/**
 * The one owner of instance, adapter and device. It keeps all three referenced until `destroy`, because Dawn takes the
 * process down when the instance is collected before the device.
 */
export class Device {
  readonly facts: AdapterFacts
  readonly gpu: GPUDevice
  /** Workgroups that a dimension of a dispatch holds. */
  readonly groupsPerDimension: number
  /** What of WGSL kernels may use beyond its first version. */
  readonly wgslFeatures: WGSLLanguageFeatures
  /** Bytes of device memory that one structure may own; whoever opens the device may lower them. */
  structureBytes = Number.POSITIVE_INFINITY
  /** Bytes of one region of a structure, which must be bound as a whole; whoever opens the device may lower them. */
  regionBytes: number
  /** What traversals cost here, once whoever opened the device has it measured; see `index/partitions/calibration.ts`. */
  traversalCosts: Readonly<Record<string, number>> | undefined
  /** What selections cost here, once that is known; see `relational/selection/calibrate.ts`. */
  selectionCosts: SelectionCosts | undefined
  /** Settles with a `DEVICE_LOST` error if the device is lost, never when it is destroyed on purpose. */
  readonly lost: Promise<WarpdexError>
  /** By which long work goes to the device. */
  readonly turns: Turns
  /** The memory of structures. */
  readonly pages: PagePool
  readonly idleTime = new IdleTime()
  readonly hostCopies = new HostCopies()
  /** Copies within a buffer. */
  readonly wordMover: Kernel
  /** Times what recorders record that are given none, while there is one. */
  profiler: Profiler | undefined
  readonly #found: FoundAdapter
  readonly #kernels: KernelStore
  readonly #buffers: BufferMaker
  readonly #pools: BufferPools
  readonly #readback: Readback
  readonly #uploads: Uploads
  /** Only where the CPU is the device. */
  readonly #pauses: PollingPauses | undefined
  readonly #direct: Lane
  #loss: WarpdexError | undefined
  #destroyed = false

  private constructor(found: FoundAdapter, gpu: GPUDevice, mostBindingBytes: number) {
    this.#found = found
    this.gpu = gpu
    const buffers = new BufferMaker(gpu)
    this.#buffers = buffers
    this.wgslFeatures = found.gpu.wgslLanguageFeatures
    const bindingBytes =
      Math.floor(Math.min(gpu.limits.maxStorageBufferBindingSize, mostBindingBytes) / QUAD_BYTES) * QUAD_BYTES
    const { name, driver, software } = found
    this.facts = { name, driver, software, bindingBytes }
    this.regionBytes = bindingBytes
    this.groupsPerDimension = gpu.limits.maxComputeWorkgroupsPerDimension
    this.turns = new Turns(this, this.groupsPerDimension)
    this.#kernels = new KernelStore(gpu, software)
    this.wordMover = this.kernels('memory/move', ['move_words']).move_words
    this.#direct = {
      record: () => this.record(),
      whenSubmitted: (call) => call(),
      submitted: async () => {},
    }
    this.#pauses = found.software ? new PollingPauses() : undefined
    this.#pools = new BufferPools({
      buffers,
      idleTime: this.idleTime,
      software: found.software,
      bindingBytes,
      createStored: (bytes) => {
        this.#refuseUnbindable(bytes, SCRATCH)
        return buffers.create(bytes, STORED, SCRATCH)
      },
      createStoredAhead: (bytes) => this.#createAhead(bytes),
    })
    this.pages = createPagePool({
      limits: gpu.limits,
      bindingBytes,
      software: found.software,
      create: (bytes, label) => buffers.create(bytes, STORED, label),
      createAhead: (bytes, label) => buffers.tryCreate({ size: bytes, usage: STORED, label }),
      record: () => this.record(),
      whenIdle: (call) => this.idleTime.whenIdle(call),
      whenDone: (call) => {
        const isOver = () => this.#destroyed || this.#loss !== undefined
        const unlessOver = () => (isOver() ? undefined : call())
        void this.workDone().then(unlessOver, () => {})
      },
    })
    buffers.onShortage(() => this.pages.giveUp())
    this.#readback = new Readback(this, this.#pools.readback)
    // Where the CPU is the device, `writeBuffer` is a copy already.
    this.#uploads = new Uploads(this, found.software ? undefined : new Staging(this, this.#pools.staging))
    this.lost = this.#watchLoss()
  }

  /**
   * @param bindingBytes bytes of a binding at most, should the adapter allow more; indexes that outgrow it are easily had then
   * @throws WarpdexError `NO_ADAPTER` with what to install
   */
  static async open(
    choice: AdapterChoice = 'auto',
    bindingBytes = Number.POSITIVE_INFINITY,
  ): Promise<Device> {
    const found = await findAdapter(choice)
    const { limits } = found.adapter
    const gpu = await found.adapter.requestDevice({
      requiredFeatures: (['subgroups', 'timestamp-query'] as const).filter((name) =>
        found.adapter.features.has(name),
      ),
      requiredLimits: {
        maxBufferSize: limits.maxBufferSize,
        maxStorageBufferBindingSize: limits.maxStorageBufferBindingSize,
        maxStorageBuffersPerShaderStage: limits.maxStorageBuffersPerShaderStage,
        maxComputeWorkgroupStorageSize: limits.maxComputeWorkgroupStorageSize,
        maxComputeInvocationsPerWorkgroup: limits.maxComputeInvocationsPerWorkgroup,
        maxComputeWorkgroupSizeX: limits.maxComputeWorkgroupSizeX,
      },
    })
    return new Device(found, gpu, bindingBytes)
  }

  /**
   * Kernels of a module, made once. A GPU's driver compiles them beforehand and on threads of its own, so that no request waits for that once
   * `compiled` has settled. Where the device is the CPU compiling takes as much of it as thousands of lookups, so only what is used is compiled.
   *
   * @param folder that the module's path starts from, if not `gpu/`
   */
  kernels<Name extends string>(
    module: string,
    entryPoints: readonly Name[],
    conditions?: Conditions,
    folder?: URL,
  ): Kernels<Name> {
    const description = { module, conditions, folder }
    const made = entryPoints.map((entryPoint) => [entryPoint, this.#kernels.kernel(description, entryPoint)])
    return Object.fromEntries(made)
  }

  /** Buffers that were made so far. */
  get creations(): number {
    return this.#buffers.creations
  }

  /** Settles once all kernels that were made so far are compiled. */
  compiled(): Promise<void> {
    return this.waitFor(this.#kernels.compiled())
  }

  /** A kernel of a module with a generated part, compiled. Nobody keeps it but who asks for it. */
  async generatedKernel(description: ModuleDescription, entryPoint: string): Promise<Kernel> {
    const kernel = this.#kernels.kernel(description, entryPoint)
    await this.waitFor(kernel.compiled)
    return kernel
  }

  /**
   * A recorder, whose `submit` throws what the device reported of the work.
   * @param profiler times what is recorded, and nothing of what others record meanwhile
   */
  record(profiler = this.profiler): DirectRecorder {
    return new DirectRecorder(this, profiler)
  }

  /** What times the work of some recorders; undefined where the adapter has no timestamps. */
  createProfiler(): Profiler | undefined {
    return this.gpu.features.has('timestamp-query') ? new Profiler(this.gpu) : undefined
  }

  /**
   * Scratch memory for one operation; release it when the operation's work is submitted.
   * @param admit as `Scratch` takes it
   * @param lane by which the operation's work gets to the device; at once unless given
   */
  scratch(admit?: (bytes: number) => void, lane = this.#direct): Scratch {
    return new Scratch(this.#pools.scratch, lane, admit)
  }

  /** Runs a task, which begins at once, with scratch memory that is given back when it has settled. */
  async withScratch<T>(task: (scratch: Scratch) => Promise<T>): Promise<T> {
    const scratch = this.scratch()
    try {
      return await task(scratch)
    } finally {
      scratch.release()
    }
  }

  /**
   * Makes a storage buffer, zeroed.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  async allocate(bytes: number, label: string): Promise<GPUBuffer> {
    const size = Math.ceil(bytes / QUAD_BYTES) * QUAD_BYTES
    this.#refuseUnbindable(size, label)
    return this.#buffers.create(size, STORED, label)
  }

  /**
   * Pages for what a structure keeps, zeroed.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  allocatePages(sort: SlabSort, bytes: number, label: string): PageRun {
    this.#refuseUnbindable(bytes, label)
    return this.pages.allocate(sort, this.bytesOfPages(bytes), label)
  }

  /**
   * As `PagePool.resize`.
   * @throws WarpdexError `OUT_OF_DEVICE_MEMORY`
   */
  resizePages(run: PageRun, bytes: number, usedBytes: number, leastBytes = bytes): void {
    this.#refuseUnbindable(bytes, run.label)
    this.pages.resize(run, bytes, usedBytes, leastBytes)
  }

  /** Has memory of structures, and buffers for operations, made ahead of need from now on, in idle time. */
  keepReserve(): void {
    const { structureBytes, facts } = this
    this.pages.keepReserve(reserveFor(structureBytes, facts.software))
    this.#pools.keepSpares(structureBytes)
  }

  #createAhead(bytes: number): GPUBuffer | undefined {
    const buffer = this.#buffers.tryCreate({ size: bytes, usage: STORED, label: SCRATCH })
    if (buffer === undefined) return undefined
    // The first use of a buffer has the device zero all of it.
    const recorder = this.record()
    recorder.clear(buffer, 0, QUAD_BYTES)
    recorder.submit()
    return buffer
  }

  /** Bytes of the pages that so many bytes take: whole ones, unless that would be more than a structure may bind. */
  bytesOfPages(bytes: number): number {
    return Math.max(bytes, Math.min(PagePool.bytesFor(bytes), this.regionBytes))
  }

  /** @throws WarpdexError `OUT_OF_DEVICE_MEMORY` for more bytes than a kernel can bind */
  #refuseUnbindable(bytes: number, label: string): void {
    const { name, bindingBytes } = this.facts
    if (bytes <= bindingBytes) return
    throw new WarpdexError(
      'OUT_OF_DEVICE_MEMORY',
      `${label} would need ${bytes} bytes in one piece; ${name} binds at most ${bindingBytes}`,
    )
  }

  /**
   * Has something called where memory runs short, to give up at once what it keeps on the device for later.
   * @returns has it called no more
   */
  onShortage(giveUp: () => void): () => void {
    return this.#buffers.onShortage(giveUp)
  }

  /**
   * Writes a column into a buffer from byte `offset`, a multiple of 4; a last partial word is filled up with zeros.
   * @param recorder what it records next sees the column; without one, all that is submitted later
   */
  upload(memory: DeviceMemory, column: Uint8Array, offset = 0, recorder?: Recorder): void {
    this.#uploads.write(memory, column, offset, recorder)
  }

  /**
   * Waits for everything submitted so far and reads `bytes` bytes of a buffer from byte `offset`, a multiple of 4.
   * @throws WarpdexError `DEVICE_LOST`, `OUT_OF_DEVICE_MEMORY` or `INTERNAL` when the device failed
   */
  async read(buffer: DeviceMemory, bytes: number, offset = 0, memory?: ResultMemory): Promise<Uint8Array> {
    const [column] = await this.submitAndRead(this.record(), [{ buffer, bytes, offset }], memory)
    return column!
  }

  /**
   * Submits what was recorded and reads columns that it wrote, all in one round trip. Nothing is waited for before the
   * submission, so that what is submitted later comes later.
   * @param memory where the columns go, all in one piece
   * @returns one view a column, each aligned to 8 bytes
   * @throws as `read`
   */
  submitAndRead(
    recorder: Recorder,
    columns: readonly DeviceColumn[],
    memory: ResultMemory = OWN_MEMORY,
  ): Promise<Uint8Array[]> {
    return this.#readback.columns(recorder, columns, memory)
  }

  /** Reads the first `words` 32-bit words of a buffer. */
  async readWords(buffer: DeviceMemory, words: number, offset = 0): Promise<Uint32Array> {
    const { buffer: read, byteOffset } = await this.read(buffer, words * 4, offset)
    return new Uint32Array(read, byteOffset, words)
  }

  /** Waits until the device has done everything that was submitted so far, or is lost. */
  async workDone(): Promise<void> {
    await this.waitFor(this.gpu.queue.onSubmittedWorkDone())
  }

  /** A clock of that many points in time; undefined where the adapter has no timestamps. */
  createClock(stamps: number): Clock | undefined {
    return this.gpu.features.has('timestamp-query') ? new Clock(this.gpu, stamps) : undefined
  }

  /** Nanoseconds from a clock's first point to each of them. Every one must have been set. */
  async readClock(clock: Clock): Promise<number[]> {
    const recorder = this.record()
    recorder.resolve(clock)
    const [column] = await this.submitAndRead(recorder, [clock.column])
    return clock.nanoseconds(column!)
  }

  /**
   * @throws WarpdexError `DEVICE_LOST` once the device is lost; else, once, the first error that it reported since the last
   * check (WebGPU reports errors to nobody in particular; Dawn at the call that is to blame, so that a check after it finds them)
   */
  check(): void {
    const reported = this.#buffers.takeReported()
    const error = this.#loss ?? reported
    if (error !== undefined) throw error
  }

  /** Destroys the device; the adapter and the instance go after it. */
  destroy(): void {
    this.#destroyed = true
    this.idleTime.end()
    this.#kernels.end()
    this.#buffers.makeRoom()
    this.gpu.destroy()
  }

  /** Settles as a promise of the device does; told of every one that is waited for. */
  waitFor<T>(work: Promise<T>): Promise<T> {
    return this.#pauses?.during(work) ?? work
  }

  #watchLoss(): Promise<WarpdexError> {
    return new Promise((resolve) => {
      void this.gpu.lost.then(({ message }) => {
        if (this.#destroyed) return
        this.idleTime.end()
        this.#loss = new WarpdexError('DEVICE_LOST', `the device ${this.#found.name} was lost: ${message}`)
        resolve(this.#loss)
      })
    })
  }
}
