/** How home looks. */
export const arrange = {
  title: 'Ułóż stronę Dom',
  done: 'Gotowe',
  zones: 'Kolejność stref',
  zonesHelp: 'Taka sama dla wszystkich. Przeciągnij strefę albo wybierz jej uchwyt i naciskaj strzałki.',
  move: 'Przesuń: {{name}}, {{position}} z {{total}}',
  moved: 'Strefa {{name}} jest teraz {{position}} z {{total}}',
} as const;
