export { WarpdexLevel, type WarpdexLevelOptions } from './level.js'
