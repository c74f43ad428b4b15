// Preloaded into a server: its threads that listen fail as soon as there is the file that the module's address names.
import { existsSync, rmSync } from 'node:fs'
import { workerData } from 'node:worker_threads'

const file = new URL(import.meta.url).searchParams.get('file')
if (workerData?.limits !== undefined) {
  setInterval(() => {
    if (!existsSync(file)) return
    rmSync(file)
    throw new Error('a fault on purpose')
  }, 20)
}
