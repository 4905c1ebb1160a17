/**
 * A page in the browser that shows the informers of a process.
 *
 * @module listwatch/inspector
 */
export { type Inspector, type InspectorOptions, serveInspector } from './serve-inspector.js';
