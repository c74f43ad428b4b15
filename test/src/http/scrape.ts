/** A metric's series by their labels, as `a="1",b="2"` in the order of the text; '' for one without labels. */
export type Scrape = ReadonlyMap<string, ReadonlyMap<string, number>>

/** Reads Prometheus' text format, strictly: every series must belong to a family that was announced with help and type. */
function parseMetrics(text: string): Scrape {
  const families = new Map<string, string>()
  const helped = new Set<string>()
  const metrics = new Map<string, Map<string, number>>()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const help = /^# HELP (?<name>\S+) \S/.exec(line)?.groups
    if (help !== undefined) {
      helped.add(help.name)
      continue
    }
    const type = /^# TYPE (?<name>\S+) (?<type>counter|gauge|histogram)$/.exec(line)?.groups
    if (type !== undefined) {
      if (families.has(type.name)) throw new Error(`${type.name} is announced twice`)
      families.set(type.name, type.type)
      continue
    }
    const series = /^(?<name>[a-z_][a-z0-9_]*)(\{(?<labels>.*)\})? (?<value>\S+)$/i.exec(line)?.groups
    if (series === undefined) throw new Error(`no line of metrics: ${line}`)
    const { name, labels = '', value } = series
    const family = families.has(name) ? name : name.replace(/_(bucket|sum|count)$/, '')
    if (!families.has(family) || !helped.has(family)) throw new Error(`${name} was not announced`)
    if (family !== name && families.get(family) !== 'histogram') throw new Error(`${name} is no histogram's`)
    if (value !== '+Inf' && !Number.isFinite(Number(value))) throw new Error(`no number: ${line}`)
    const metric = metrics.get(name) ?? new Map<string, number>()
    if (metric.has(labels)) throw new Error(`twice: ${line}`)
    metric.set(labels, Number(value))
    metrics.set(name, metric)
  }
  return metrics
}

/** Asks a server for its metrics. */
export async function scrape(url: string, headers: Readonly<Record<string, string>> = {}): Promise<Scrape> {
  const response = await fetch(`${url.replace('ws', 'http')}/metrics`, { headers })
  if (!response.ok) throw new Error(`metrics: ${response.status}`)
  return parseMetrics(await response.text())
}

/** The sum of a metric's series. */
export function total(metrics: Scrape, name: string): number {
  return [...(metrics.get(name)?.values() ?? [])].reduce((sum, value) => sum + value, 0)
}
