// Suggestions for what somebody types, over HTTP:
//
//   node examples/autocomplete-http.mjs words.txt
//   curl 'http://127.0.0.1:8080/suggest?prefix=ber'
//
// Scans that begin in the same turn of the event loop share one request to the server, so many users cost little more than one.
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { connect } from 'warpdex'

const SUGGESTIONS = 10

const [file] = process.argv.slice(2)
if (file === undefined) {
  console.error('usage: autocomplete-http.mjs WORDS, a file with a word per line')
  process.exit(2)
}

const client = await connect(process.env.WARPDEX_URL ?? 'ws://127.0.0.1:7070')
const words = await client.createIndex(
  { name: 'suggestions', keyType: 'string', payloadKind: 'text', unique: true },
  { ifNotExists: true },
)

// Keys are folded, so that "Ber" finds "Berlin"; the payload is the word as it is written.
const fold = (text) => text.normalize('NFKC').toLowerCase()
const known = (await readFile(file, 'utf8')).split('\n').filter((word) => word !== '')
await words.putMany(known.map(fold), known)

const server = createServer(async ({ url }, response) => {
  const { pathname, searchParams } = new URL(url, 'http://localhost')
  const prefix = searchParams.get('prefix')
  if (pathname !== '/suggest' || prefix === null) {
    response.writeHead(404).end('ask for /suggest?prefix=…\n')
    return
  }
  try {
    const suggestions = []
    for await (const word of words.values({ prefix: fold(prefix), limit: SUGGESTIONS }))
      suggestions.push(word)
    response.setHeader('Content-Type', 'application/json').end(JSON.stringify(suggestions))
  } catch (error) {
    response.writeHead(503).end(`${error.message}\n`)
  }
})
server.listen(Number(process.env.PORT ?? 8080), '127.0.0.1', () => {
  console.log(`http://127.0.0.1:${server.address().port}/suggest?prefix=`)
})
