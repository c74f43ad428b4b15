import type { DirectRecorder, Recorder } from '../device/recorder.js'
import { type DeviceMemory, placeToWrite } from './page-run.js'
import type { Staging } from './staging.js'

/** What uploads need of a device. */
interface UploadDevice {
  readonly gpu: GPUDevice
  record(): DirectRecorder
}

/** Columns of this size and more go up through staging buffers on GPUs. */
const STAGED_BYTES = 64 * 1024
/** The same for columns that need a submission of their own for it. */
const STAGED_ALONE_BYTES = 2 ** 20

/** The ways by which columns go up to a device: through mapped buffers where these are faster, else by its queue. */
export class Uploads {
  readonly #device: UploadDevice
  readonly #staging: Staging | undefined

  constructor(device: UploadDevice, staging: Staging | undefined) {
    this.#device = device
    this.#staging = staging
  }

  /** As `Device.upload`. */
  write(memory: DeviceMemory, column: Uint8Array, offset: number, recorder?: Recorder): void {
    const { byteLength } = column
    if (this.#staging !== undefined && byteLength >= (recorder ? STAGED_BYTES : STAGED_ALONE_BYTES)) {
      const by = recorder ?? this.#device.record()
      this.#staging.record(by, memory, offset, column)
      if (recorder === undefined) by.submit()
      return
    }
    const { buffer, offset: begin } = placeToWrite(memory)
    const whole = byteLength & ~3
    if (whole > 0) {
      // Dawn sees no memory that threads share, and would end the process.
      const own = column.buffer instanceof ArrayBuffer ? column : column.slice()
      this.#device.gpu.queue.writeBuffer(buffer, begin + offset, own as Uint8Array<ArrayBuffer>, 0, whole)
    }
    if (whole < byteLength) {
      const tail = new Uint8Array(4)
      tail.set(column.subarray(whole))
      this.#device.gpu.queue.writeBuffer(buffer, begin + offset + whole, tail)
    }
  }
}
