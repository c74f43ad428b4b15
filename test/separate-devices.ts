import t from 'tap'

/** Has each device of a test file be one of Dawn's, for tests that lose devices; others share one, see one-device.mjs. */
export function separateDevices(): void {
  process.env.TEST_DEVICES = 'separate'
  t.teardown(() => void delete process.env.TEST_DEVICES)
}
