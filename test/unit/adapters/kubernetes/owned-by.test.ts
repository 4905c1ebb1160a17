import { expect, test } from 'vitest'
import { ownedBy } from '../../../../adapters/kubernetes/index.js'
import { OptionError } from '../../../../src/contract/errors.js'

const pod = {
  metadata: {
    namespace: 'default',
    ownerReferences: [
      { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: '1' },
      { apiVersion: 'example.com/v1', kind: 'ReplicaSet', name: 'other', uid: '2' },
      { apiVersion: 'v1', kind: 'Node', name: 'node-1', uid: '3' },
    ],
  },
}

test('ownedBy returns the keys of the owners of a kind, in the namespace of the object', () => {
  expect([ownedBy('ReplicaSet')(pod), ownedBy('Deployment')(pod)]).toEqual([['default/web', 'default/other'], []])
})

test('ownedBy selects the owners of an API version', () => {
  expect(ownedBy('ReplicaSet', { apiVersion: 'apps/v1' })(pod)).toEqual(['default/web'])
})

test('ownedBy returns names for owners without a namespace', () => {
  expect(ownedBy('Node', { isNamespaced: false })(pod)).toEqual(['node-1'])
  expect(ownedBy('Node')({ metadata: { ownerReferences: pod.metadata.ownerReferences } })).toEqual(['node-1'])
})

test('ownedBy returns no key for an object without owners', () => {
  expect([ownedBy('Node')({}), ownedBy('Node')({ metadata: {} })]).toEqual([[], []])
})

test('ownedBy refuses wrong arguments', () => {
  expect(() => ownedBy('')).toThrow(TypeError)
  expect(() => ownedBy('Pod', { apiVersion: '' })).toThrow(OptionError)
})
