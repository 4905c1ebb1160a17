import * as clientNode from '@kubernetes/client-node'
import { expect, test } from 'vitest'
import type { RenamedFields, RenamedInSchemas } from '../../../../adapters/kubernetes/types/wire.js'

type Model = { getAttributeTypeMap(): readonly { readonly name: string; readonly baseName: string }[] }

/** What client-node goes by when it reads and writes JSON. */
const models = new Map(
  Object.entries(clientNode)
    .filter(([, model]) => Object(model).getAttributeTypeMap !== undefined)
    .map(([name, model]) => [name, (model as unknown as Model).getAttributeTypeMap()]),
)

function renamedIn(names: Iterable<string>): Record<string, string> {
  const attributes = [...names].flatMap((name) => models.get(name) ?? [])
  return Object.fromEntries(
    attributes.filter(({ name, baseName }) => name !== baseName).map(({ name, baseName }) => [name, baseName]),
  )
}

const everywhere: RenamedFields = {
  _continue: 'continue',
  _default: 'default',
  _enum: 'enum',
  _from: 'from',
  _int: 'int',
  x_kubernetes_embedded_resource: 'x-kubernetes-embedded-resource',
  x_kubernetes_int_or_string: 'x-kubernetes-int-or-string',
  x_kubernetes_list_map_keys: 'x-kubernetes-list-map-keys',
  x_kubernetes_list_type: 'x-kubernetes-list-type',
  x_kubernetes_map_type: 'x-kubernetes-map-type',
  x_kubernetes_preserve_unknown_fields: 'x-kubernetes-preserve-unknown-fields',
  x_kubernetes_validations: 'x-kubernetes-validations',
}
const inSchemas: RenamedInSchemas = { ref: '$ref', schema: '$schema' }

test('Wire undoes every renaming of client-node, and no other', () => {
  expect(models.size).toBeGreaterThan(500)
  expect(renamedIn(models.keys())).toEqual({ ...everywhere, ...inSchemas })
})

test('what it undoes in JSON schemas only, client-node renames nowhere else', () => {
  const others = [...models.keys()].filter((name) => name !== 'V1JSONSchemaProps')
  expect(Object.keys(renamedIn(others)).filter((name) => name in inSchemas)).toEqual([])
})

test('no model has a field that is called by its own name as another is renamed to', () => {
  const kept = [...models.values()].flat().filter(({ name, baseName }) => name === baseName)
  expect(kept.filter(({ name }) => name in everywhere)).toEqual([])
})
