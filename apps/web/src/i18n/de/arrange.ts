/** How home looks. */
export const arrange = {
  title: 'Startseite anordnen',
  done: 'Fertig',
  tiles: 'Kacheln in diesem Browser',
  large: 'Groß',
  largeHelp: 'Mit Schiebereglern. Ab 61 Geräten sind die Kacheln kompakt.',
  compact: 'Kompakt',
  compactHelp: 'Eine Zeile pro Gerät.',
  zones: 'Reihenfolge der Bereiche',
  zonesHelp: 'Für alle. Ziehe einen Bereich, oder wähle seinen Griff und drücke die Pfeiltasten.',
  move: '{{name}} verschieben, {{position}} von {{total}}',
  moved: '{{name}} ist jetzt {{position}} von {{total}}',
} as const;
