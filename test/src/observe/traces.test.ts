import { type Attributes, type SpanOptions, type SpanStatus, type Tracer, trace } from '@opentelemetry/api'
import t from 'tap'
import { connect } from '../../../clients/sdk/index.js'
import { registeredTracer } from '../../../src/observe/traces.js'
import { start } from '../server/start.js'

interface Recorded {
  readonly name: string
  readonly options: SpanOptions
  status?: SpanStatus
  end?: number
}

/** A provider that keeps its spans, as far as a server makes any. */
class Spans {
  readonly all: Recorded[] = []

  getTracer(): Tracer {
    const startSpan = (name: string, options: SpanOptions) => {
      const span: Recorded = { name, options }
      this.all.push(span)
      const setStatus = (status: SpanStatus) => Object.assign(span, { status })
      const end = (at: number) => Object.assign(span, { end: at })
      return { setStatus, end }
    }
    // No more of it is needed.
    return { startSpan } as unknown as Tracer
  }
}

t.test('without an SDK there is no tracer', (t) => {
  t.equal(registeredTracer(), undefined)
  t.end()
})

for (const ioThreads of [0, 1]) {
  t.test(`every request has a span, with ${ioThreads} threads that listen`, async (t) => {
    const spans = new Spans()
    trace.setGlobalTracerProvider(spans)
    t.teardown(() => trace.disable())
    const server = await start(t, { ioThreads, token: 'secret' })
    const client = await connect(server.url, { token: 'secret' })
    const index = await client.createIndex({
      name: 'numbers',
      keyType: 'u32',
      payloadKind: 'u32',
      unique: true,
    })
    await index.insertMany([1, 2], [10, 20])
    await index.entries().firstPage()
    await t.rejects(client.dropIndex('none'), { code: 'UNKNOWN_INDEX' })
    await client.close()
    const found = async (name: string): Promise<Recorded> => {
      const span = spans.all.find((each) => each.name === name)
      if (span !== undefined) return span
      await new Promise((resolve) => setTimeout(resolve, 5))
      return found(name)
    }
    const attributes = async (name: string): Promise<Attributes> => (await found(name)).options.attributes!
    t.match(await attributes('insert numbers'), {
      'db.system.name': 'warpdex',
      'db.operation.name': 'insert',
      'db.collection.name': 'numbers',
      'db.operation.batch.size': 2,
      'client.address': /127\.0\.0\.1/,
      'warpdex.token': '--token',
      'warpdex.running_ms': Number,
    })
    t.match(await attributes('scan numbers'), { 'db.response.returned_rows': 2 })
    const { end, options, status } = await found('insert numbers')
    t.ok(end! >= Number(options.startTime) && Math.abs(Date.now() - end!) < 60_000)
    t.equal(status, undefined)
    const refused = await found('dropIndex none')
    t.match(refused, { status: { code: 2 }, options: { attributes: { 'error.type': 'UNKNOWN_INDEX' } } })
  })
}
