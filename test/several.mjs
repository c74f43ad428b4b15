// Runs the compiled test files of TEST_FILES one after the other, each as a test, so that they have one process and its device; see one-device.mjs.
import { relative } from 'node:path'
import { pathToFileURL } from 'node:url'
import root from 'tap'
import { stand } from './root.mjs'

const files = process.env.TEST_FILES.split('\n')
const timeout = (1000 * process.env.TAP_TIMEOUT) / files.length
for (const file of files) {
  await root.test(relative(import.meta.dirname, file), { timeout }, async (t) => {
    stand(t)
    await import(pathToFileURL(file).href)
  })
}
