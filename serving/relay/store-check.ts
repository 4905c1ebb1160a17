import { hasMethods, propertiesOf } from '../../adapters/common/properties.js'
import type { OptionCheck } from '../../src/util/validate-options.js'

export const isStore: OptionCheck = (value) =>
  hasMethods(value, 'read', 'write', 'close') &&
  hasMethods(propertiesOf(value)['collection'], 'list', 'watch', 'hasReached')
    ? undefined
    : 'must be a relay store, such as redisRelayStore of listwatch/redis returns'
