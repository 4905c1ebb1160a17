export type { RedisClient } from './client.js'
