import type { FakeKubernetes, FakeKubernetesOptions } from './fake-kubernetes-types.js';
/**
 * Starts an API server of Kubernetes for tests, on a free port of 127.0.0.1. It lists in pages, watches with bookmarks
 * and 410, creates, updates, patches, deletes with finalizers, and has server-side apply and the subresource `status`.
 * Not for anything else: it has no authentication, schemas, selectors, streamed lists, admission, garbage collection
 * and controllers, and server-side apply takes each array as one field.
 *
 * @returns The server, which listens until it is disposed.
 * @throws Error if it cannot listen.
 *
 * @example
 * ```ts
 * import { createInformer } from 'listwatch'
 * import { kubernetesSource } from 'listwatch/kubernetes'
 * import { fakeKubernetes } from 'listwatch/testing/kubernetes'
 *
 * await using server = await fakeKubernetes({ resources: [{ apiVersion: 'example.com/v1', kind: 'Site', plural: 'sites' }] })
 * server.put({ apiVersion: 'example.com/v1', kind: 'Site', metadata: { name: 'shop', namespace: 'default' } })
 * const { kubeConfig } = server
 * const sites = createInformer({ source: kubernetesSource({ kubeConfig, apiVersion: 'example.com/v1', kind: 'Site' }) })
 * await sites.start().synced()
 * console.log(sites.get('default/shop'))
 * await sites.stop()
 * ```
 */
export declare function fakeKubernetes(options?: FakeKubernetesOptions): Promise<FakeKubernetes>;
