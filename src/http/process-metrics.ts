import { readdirSync } from 'node:fs'
import type { Registry } from 'prom-client'
import { counter, gauge } from './metrics.js'

const DESCRIPTORS = '/proc/self/fd'

/** Enters what the process takes, under the names that exporters of Prometheus have for it. */
export function processMetrics(registry: Registry): void {
  const startedAt = Date.now() / 1000 - process.uptime()
  counter(registry, 'process_cpu_user_seconds_total', 'Processor time in user mode.', () => {
    return process.cpuUsage().user / 1e6
  })
  counter(registry, 'process_cpu_system_seconds_total', 'Processor time in the kernel.', () => {
    return process.cpuUsage().system / 1e6
  })
  gauge(registry, 'process_start_time_seconds', 'When the process was started.', () => startedAt)
  const memory = (name: string, help: string, figure: keyof NodeJS.MemoryUsage) =>
    gauge(registry, name, help, () => process.memoryUsage()[figure])
  memory('process_resident_memory_bytes', 'Memory of the process.', 'rss')
  memory('nodejs_heap_size_total_bytes', 'Heap of JavaScript.', 'heapTotal')
  memory('nodejs_heap_size_used_bytes', 'What of it is in use.', 'heapUsed')
  memory('nodejs_external_memory_bytes', 'Memory of objects beside the heap, such as buffers.', 'external')
  gauge(registry, 'process_open_fds', 'Open files and sockets; 0 where that cannot be known.', () => {
    try {
      return readdirSync(DESCRIPTORS).length
    } catch {
      return 0
    }
  })
}
