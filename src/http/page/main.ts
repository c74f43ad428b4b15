// Runs in a browser: shows a server's status and keeps it up to date.
import { Activity } from './activity.js'
import { Browser } from './browser.js'
import { byId, setText } from './dom.js'
import { MemoryMaps } from './memory-map.js'
import { Overview } from './overview.js'
import { Plots } from './plots.js'
import { QueryBox } from './query-box.js'
import { SlabStrips } from './slab-strips.js'
import { fetchTold, keepToken, TokenWanted } from './status-source.js'
import { Tables } from './tables.js'

const PAUSE_MS = 1000

const overview = new Overview()
const tables = new Tables()
const activity = new Activity()
const browser = new Browser()
new QueryBox()
const plots = new Plots(byId('plots'))
const maps = new MemoryMaps(byId('maps'))
const slabs = new SlabStrips(byId('slabs'), byId('page-owners'))
let lastAnswer = Date.now()
let timer: number | undefined

async function refresh(): Promise<void> {
  clearTimeout(timer)
  try {
    const status = await fetchTold('/status.json')
    lastAnswer = Date.now()
    byId('sign-in').hidden = true
    byId('content').hidden = false
    overview.update(status)
    tables.update(status)
    browser.update(status)
    await Promise.all([plots.update(status), activity.update(status)])
    byId('memory').hidden = status.slabs.length === 0
    maps.update(status.indexes)
    slabs.update(status.slabs)
  } catch (error) {
    if (error instanceof TokenWanted) {
      askForToken(error)
      return
    }
    overview.away(lastAnswer)
  }
  timer = window.setTimeout(refresh, PAUSE_MS)
}

function askForToken({ wasGiven }: TokenWanted): void {
  const state = byId('state')
  state.dataset.state = 'waiting'
  setText(state, 'locked')
  byId('content').hidden = true
  byId('sign-in').hidden = false
  if (!wasGiven) return
  const hint = byId('sign-in-hint')
  hint.dataset.wrong = ''
  setText(hint, 'That is not the token, or it lacks the right to read. Try again.')
}

byId('sign-in').addEventListener('submit', (event) => {
  event.preventDefault()
  const field = byId('token')
  if (!(field instanceof HTMLInputElement)) return
  keepToken(field.value)
  field.value = ''
  void refresh()
})

matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
  plots.restyle()
  maps.restyle()
  slabs.restyle()
})

document.addEventListener('visibilitychange', () => {
  if (document.hidden) clearTimeout(timer)
  else void refresh()
})

void refresh()
