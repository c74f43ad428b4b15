import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

/**
 * Measures in a process of its own, so that nothing of one measurement is left for the next.
 * @param module URL of a module that ends by calling `measureForParent`
 * @param measurement what to measure, a value of JSON
 * @returns what the module's measurement returned; undefined where it returned nothing
 */
export async function measureApart<M, R>(module: string, measurement: M): Promise<R | undefined> {
  const child = fork(fileURLToPath(module), [JSON.stringify(measurement)])
  let result: R | undefined
  child.on('message', (message) => {
    // It comes from `measureForParent` of the same module.
    result = (message as R | null) ?? undefined
  })
  const [code] = await once(child, 'exit')
  if (code !== 0) throw new Error(`the measurement ${JSON.stringify(measurement)} failed`)
  return result
}

/** In a process that `measureApart` made for this module, measures and sends the result; else does nothing. */
export async function measureForParent<M, R>(
  module: string,
  measure: (measurement: M) => Promise<R | undefined>,
): Promise<void> {
  if (process.send === undefined || process.argv[1] !== fileURLToPath(module)) return
  const result = await measure(JSON.parse(process.argv[2]!))
  // A message that is still on its way when the channel is closed would be lost.
  process.send(result ?? null, undefined, undefined, () => process.disconnect())
}
