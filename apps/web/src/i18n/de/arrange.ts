/** How home looks. */
export const arrange = {
  title: 'Startseite anordnen',
  done: 'Fertig',
  zones: 'Reihenfolge der Bereiche',
  zonesHelp: 'Für alle. Ziehe einen Bereich, oder wähle seinen Griff und drücke die Pfeiltasten.',
  move: '{{name}} verschieben, {{position}} von {{total}}',
  moved: '{{name}} ist jetzt {{position}} von {{total}}',
} as const;
