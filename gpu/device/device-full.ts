import { WarpdexError } from '../../protocol/errors.js'

/**
 * The device has no room left. It may have some once others give memory back; what is larger than a binding, or than one
 * structure may own, is refused by a plain `OUT_OF_DEVICE_MEMORY` instead.
 */
export class DeviceFull extends WarpdexError {
  constructor(message: string) {
    super('OUT_OF_DEVICE_MEMORY', message)
  }
}
