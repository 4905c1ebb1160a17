/** TypeDoc makes docs/api from the built declarations of the entry points in package.json: `npm run docs`. */
export default {
  name: 'API reference',
  readme: 'scripts/typedoc/introduction.md',
  tsconfig: 'scripts/typedoc/tsconfig.json',
  out: 'docs/api',
  plugin: ['typedoc-plugin-markdown', './scripts/typedoc/theme.mjs'],
  theme: 'with-contents',

  // One page for each entry point.
  router: 'module',
  flattenOutputFiles: true,
  mergeReadme: true,
  hideBreadcrumbs: true,

  excludeExternals: true,
  excludeInternal: true,
  excludePrivate: true,
  disableSources: true,
  githubPages: false,

  // The numbers in the links to equal names depend on this order: the plugin counts a function several times.
  sort: ['kind', 'source-order'],
  sortEntryPoints: false,
  useCodeBlocks: true,
  expandObjects: true,
  expandParameters: true,
  indexFormat: 'table',
  parametersFormat: 'table',
  interfacePropertiesFormat: 'table',
  classPropertiesFormat: 'table',
  typeAliasPropertiesFormat: 'table',
  propertyMembersFormat: 'table',
  typeDeclarationFormat: 'table',
  tableColumnSettings: { hideModifiers: true, hideInherited: true, hideOverrides: true },

  logLevel: 'Warn',
  treatWarningsAsErrors: true,
  validation: { notExported: true, invalidLink: true, rewrittenLink: true, notDocumented: true },
  // test/public-docs.test.ts requires docstrings of properties, except of those of nested types.
  requiredToBeDocumented: ['Module', 'Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Method', 'Accessor'],
}
