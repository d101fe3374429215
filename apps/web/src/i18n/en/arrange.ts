/** How home looks. */
export const arrange = {
  title: 'Arrange home',
  done: 'Done',
  zones: 'Order of zones',
  zonesHelp: 'For everybody. Drag a zone, or choose its handle and press the arrow keys.',
  move: 'Move {{name}}, {{position}} of {{total}}',
  moved: '{{name}} is now {{position}} of {{total}}',
} as const;
