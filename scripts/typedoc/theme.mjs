import { ReflectionKind } from 'typedoc'
import { MarkdownTheme } from 'typedoc-plugin-markdown'

/**
 * The theme of typedoc-plugin-markdown. The page of an entry point begins with a table of its symbols. The index has no
 * link to itself above its title.
 */
class ThemeWithContents extends MarkdownTheme {
  getRenderContext(page) {
    const context = super.getRenderContext(page)
    const { body, groupIndex, header } = context.partials
    context.partials.header = () => (page.model.isProject() ? '' : header())
    context.partials.body = (model, options) =>
      model.kindOf(ReflectionKind.Module)
        ? `${groupIndex({ children: inOrder(model.children) })}\n\n${body(model, options)}`
        : body(model, options)
    return context
  }
}

const ORDER = [
  ReflectionKind.Function,
  ReflectionKind.Class,
  ReflectionKind.Variable,
  ReflectionKind.Interface,
  ReflectionKind.TypeAlias,
]

/** Functions and classes first. Symbols of other entry points have a section of their own. */
function inOrder(children) {
  return ORDER.flatMap((kind) => children.filter((child) => child.kindOf(kind)))
}

/** TypeDoc calls it for each plugin of its configuration. */
export function load({ renderer }) {
  renderer.defineTheme('with-contents', ThemeWithContents)
}
