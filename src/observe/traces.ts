import { ProxyTracerProvider, SpanKind, SpanStatusCode, type Tracer, trace } from '@opentelemetry/api'
import { VERSION } from '../version.js'
import type { AnsweredRequest } from './answered-request.js'

/** The tracer of an OpenTelemetry SDK that was set up before the server, by `node --import`; undefined where none was. */
export function registeredTracer(): Tracer | undefined {
  const provider = trace.getTracerProvider()
  const isRegistered =
    !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer('warpdex') !== undefined
  return isRegistered ? provider.getTracer('warpdex', VERSION) : undefined
}

/** Makes the span of a request that was answered. Attributes are those of the semantic conventions for databases, where they have one. */
export function traceRequest(tracer: Tracer, request: Omit<AnsweredRequest, 'handles'>): void {
  const { at, milliseconds, op, names, outcome, times } = request
  const [name] = names
  const span = tracer.startSpan(name === undefined ? op : `${op} ${name}`, {
    kind: SpanKind.SERVER,
    root: true,
    startTime: at,
    attributes: {
      'db.system.name': 'warpdex',
      'db.operation.name': op,
      'db.collection.name': name,
      'db.query.text': request.statement,
      'db.operation.batch.size': request.keys > 1 ? request.keys : undefined,
      'db.response.returned_rows': request.rows,
      'client.address': request.address,
      'warpdex.token': request.token,
      'warpdex.request.bytes': request.bytesIn,
      'warpdex.response.bytes': request.bytesOut,
      'warpdex.waiting_ms': times?.waiting,
      'warpdex.running_ms': times?.running,
      'warpdex.replying_ms': times?.replying,
      ...(outcome !== 'OK' && { 'db.response.status_code': outcome, 'error.type': outcome }),
    },
  })
  if (outcome !== 'OK') span.setStatus({ code: SpanStatusCode.ERROR })
  span.end(at + milliseconds)
}
