export { type Inspector, type InspectorOptions, serveInspector } from './serve-inspector.js'
