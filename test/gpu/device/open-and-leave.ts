// Run by device.test.ts as a process of its own: opens a device, uses it, and ends as its argument says.
import { Device } from '../../../gpu/device/device.js'

const device = await Device.open()
await device.readWords(device.scratch().words(1), 1)
if (process.argv[2] === 'destroy') device.destroy()
else process.exit(0)
